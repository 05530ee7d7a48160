"""The final-state term: whether the world ends in the ground truth's final state, by any calls."""

from __future__ import annotations

from ..core.trajectory import Example, Rollout
from .state import state


def final_state(example: Example, rollout: Rollout) -> float:
    """Return 1 if the final state of every server equals the ground truth's, else 0 (tau2-bench; BFCL multi-turn).

    States are equal up to renaming of created ids, see `state`. For a read-only example the term is uninformative,
    because doing nothing also gives the right state.
    """
    return float(state(example, rollout) == 1.0)
