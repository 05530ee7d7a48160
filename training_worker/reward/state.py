"""The state score S_state: the share of the involved servers whose final state equals the ground truth's."""

from __future__ import annotations

from ..core.trajectory import Example, Rollout
from .state_diff import Outcome, Unreplayable, list_successful_calls, outcome, truth_of


def state(example: Example, rollout: Rollout) -> float:
    """Return S_state = |{s involved : state(s) = the ground truth's}| / |{s involved}| (EnvFactory).

    Involved are the servers that the ground truth calls and any other server that the rollout changed. States are equal
    if their rows are equal up to renaming of created ids. If a write is accepted only when the clock moves, both states
    are compared with a moving clock, including time stamps.
    """
    if rollout.digest and rollout.digest == example.digests[-1]:
        return 1.0
    truth, calls = truth_of(example), list_successful_calls(rollout.calls)
    if truth.still is not None:
        try:
            return share(truth.still, outcome(example.world, calls), truth.called)
        except Unreplayable:
            pass
    return share(truth.ticking, outcome(example.world, calls, ticking=True), truth.called)


def share(truth: Outcome, own: Outcome, called: frozenset[str]) -> float:
    """Return the share of the called or changed servers on which both outcomes agree; 1 if there are none."""
    involved = called | truth.signatures.keys() | own.signatures.keys()
    equal = sum(truth.signatures.get(name) == own.signatures.get(name) for name in involved)
    return equal / len(involved) if involved else 1.0
