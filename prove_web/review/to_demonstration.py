"""Demonstration on the current servers from an accepted trajectory, for a training dataset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mcp_servers.catalogue import SERVERS, fingerprint
from prove_web.trajectories.models import Trajectory
from training_worker.chat.formats import FORMATS
from training_worker.core.trajectory import Example, Rollout
from training_worker.datasets import manual
from training_worker.datasets.manual import ManualCall
from training_worker.synthesis.validate import Rejected, validate

from .trajectory_content import NotChecked, load_replay_input


def as_demonstration(trajectory: Trajectory) -> Example:
    """Return a trajectory's example, validated on the current servers. Raises Rejected with the reason.

    A demonstration stays as it is, with the current fingerprint. For a rollout, the successful calls become the ground
    truth and its last messages the answers; user turns, candidates and knobs stay those of its example.
    """
    try:
        example, attempt = load_replay_input(trajectory)
    except NotChecked as reason:
        raise Rejected(str(reason)) from None
    if example.source:
        if attempt is None:
            return example  # imported: nothing of it can be replayed
        raise Rejected("A rollout of an imported conversation has no live calls; use the conversation itself.")
    if gone := [name for name in example.world.servers if name not in SERVERS]:
        raise Rejected(f"There is no server {', '.join(gone)} any more.")
    today = replace(example, fingerprint=fingerprint(example.world.servers))
    if attempt is not None:
        today = (
            build_abstention(today, attempt)
            if example.abstains and not attempt.calls
            else build_demonstration(today, attempt)
        )
    validate(today)
    return today


def build_abstention(example: Example, attempt: Rollout) -> Example:
    """Return an abstention with the rollout's messages as answers: no call was correct, and none was made."""
    return replace(example, answers=collect_final_messages(attempt, example.answers))


def build_demonstration(example: Example, attempt: Rollout) -> Example:
    """Return the successful calls of a rollout as ground truth. Raises Rejected."""
    made = manual.example_of(example.id, example.world, list(calls(attempt)), example.today)
    answers = collect_final_messages(attempt, made.answers)
    unchanged = ("split", "candidates", "arrivals", "enums_stripped", "distractors", "level", "persona")
    turns = example.turns[: len(made.turns)]  # those of the transcript also announce added tools
    return replace(made, turns=turns, answers=answers, **{name: getattr(example, name) for name in unchanged})


def calls(attempt: Rollout) -> Iterator[ManualCall]:
    """Yield the successful calls, the first of each user turn with the user's message. Raises Rejected."""
    said, turn, waiting = "", -1, iter(attempt.calls)
    pending = next(waiting, None)
    for message in attempt.transcript:
        if message.role == "user":
            if said:
                raise Rejected(
                    f"No call of the rollout answers the user message “{said[:60]}”; its step would be empty."
                )
            said = message.content
        elif message.role == "assistant":
            turn += 1
            while pending is not None and pending.turn == turn:
                if pending.level == 3 and pending.call.arguments is not None:
                    yield ManualCall(pending.call.name, pending.call.arguments, pending.observation, said)
                    said = ""
                pending = next(waiting, None)
    if said:
        raise Rejected(f"No call of the rollout answers the user message “{said[:60]}”; its step would be empty.")


def collect_final_messages(attempt: Rollout, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    """Return the last message without a call of each user turn, else that of `otherwise`."""
    found: list[str] = []
    for message in attempt.transcript:
        if message.role == "user":
            found.append("")
        elif message.role == "assistant" and found:
            found[-1] = extract_text(message.content)
    pairs = zip(found, otherwise, strict=False)
    return tuple(own or other for own, other in pairs) if len(found) == len(otherwise) else otherwise


def extract_text(text: str) -> str:
    """Return the text if it has no call, else ""."""
    return "" if any(form.parse(text, 1) for form in FORMATS) else text.strip()
