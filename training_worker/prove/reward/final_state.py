"""Final state: whether the world ended as the ground truth leaves it, by whatever calls."""

from __future__ import annotations

from ..trajectory import Example, Rollout
from .state import state


def final_state(example: Example, rollout: Rollout) -> float:
    """1 if the final state of every server equals the ground truth's, else 0 (tau2-bench; BFCL multi-turn).

    Equal up to the names of ids made on the way, see `state`. An example that only looks is solved by looking at
    nothing: this term says nothing about it.
    """
    return float(state(example, rollout) == 1.0)
