"""Editing of a trajectory: the initial draft, a run of the edit, and the reason if it is rejected."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from prove_web.accounts.models import User
from prove_web.review.blinding import blind_since
from training_worker.core.trajectory import Example, Rollout
from training_worker.datasets.edits import EditedCall, EditedConversation, apply_edits, as_it_is
from training_worker.synthesis.validate import Rejected

from .detail_context import load_scored_rollout
from .models import Trajectory
from .replay_score import Verdict, example_of, judge


class NotMendable(ValueError):
    """Error of a trajectory that can't be run and therefore not edited; the message says why and what to do."""


@dataclass(frozen=True)
class EditResult:
    """Run of an edit in a fresh world: its verdict and the trajectory's own, without rewards for a blind reviewer.

    `texts` are the observations of the calls; `same` if nothing was changed.
    """

    held: Verdict
    before: Verdict | None
    texts: tuple[str, ...]
    same: bool


def mendable(trajectory: Trajectory) -> Example:
    """Return the example of a trajectory that can be edited. Raises NotMendable."""
    made = example_of(trajectory)
    if made is None or made.source:
        why = "was imported, and its tools are not available here" if made else "was recorded by another version"
        raise NotMendable(f"{trajectory} cannot be edited: it {why}. Reject or label it instead.")
    return made


def run(trajectory: Trajectory, example: Example, wanted: EditedConversation, user: User) -> EditResult:
    """Run an edit in a fresh world. Raises Rejected."""
    made = apply_edits(trajectory.example, example, wanted)
    blind = blind_since(trajectory, user) is not None
    before = None if blind else load_scored_rollout(trajectory, example)[1]
    held = replace(judge(made), reward=None, parts=(), rollout=None) if blind else judge(made)
    texts = tuple(text for step in made.steps for text in step.observations)
    same = (example.turns, example.answers, example.steps) == (made.turns, made.answers, made.steps)
    return EditResult(held, before, texts, same)


def explain_rejection(reason: Rejected, trajectory: Trajectory) -> str:
    """Return why an edit was rejected, without the id, which does not exist yet."""
    return re.sub(r"^(hand-\d+|" + re.escape(trajectory.example) + r"): ", "", str(reason))


def build_initial_edit(example: Example, attempt: Rollout | None) -> EditedConversation:
    """Return the initial state of the form: the demonstration, or the successful calls of a rollout."""
    if attempt is None:
        return as_it_is(example)
    turns = user_turns(attempt)
    calls = tuple(
        EditedCall(made.call.name, made.call.arguments or {}, min(turns[made.turn], len(example.turns) - 1))
        for made in attempt.calls
        if made.level == 3
    )
    return EditedConversation(example.turns, example.answers, calls)


def user_turns(attempt: Rollout) -> list[int]:
    """Return for each assistant turn its user turn, both from 0."""
    found, number = list[int](), -1
    for message in attempt.transcript:
        number += message.role == "user"
        if message.role == "assistant":
            found.append(max(number, 0))
    return found
