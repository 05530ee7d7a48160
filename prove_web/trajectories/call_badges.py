"""Badges of a tool call: how far it got, and its result in each reward component."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from training_worker.core.trajectory import Evidence, Example, ToolCall

LEVELS = (
    ("Unknown or malformed", "Validity 0 of 3: no candidate tool has this name, or the call cannot be read"),
    ("Invalid arguments", "Validity 1 of 3: required arguments are missing or of another type"),
    ("Refused", "Validity 2 of 3: the arguments were valid, the server refused the call"),
    ("Executed", "Validity 3 of 3: the call succeeded"),
)
TONES = ("bad", "bad", "warn", "good")


@dataclass(frozen=True)
class Chip:
    """A badge; `tone` is good, warn, bad or plain, and `title` is the explanation."""

    text: str
    tone: str = "plain"
    title: str = ""


def level_chip(level: int) -> Chip:
    text, title = LEVELS[level]
    return Chip(text, TONES[level], title)


def iter_reward_chips(evidence: Evidence, *, abstains: bool) -> Iterator[Chip]:
    """Yield badges for the call's result in each reward component."""
    if abstains:
        yield Chip("No call expected", "bad", "The correct action was to make no call")
        return
    if evidence.step is None:
        name = ("Matches no step", "warn", "The ground truth has this tool, but no step is left for it")
        yield Chip(*name) if evidence.named else Chip("Unneeded tool", "bad", "The ground truth does not call it")
        return
    yield Chip(f"Step {evidence.step + 1}", "good", "The ground-truth step that this call was matched to")
    if evidence.in_order is None:
        yield Chip("Order unknown", "plain", "The dependencies of this step are unknown, so order does not count")
    elif evidence.in_order:
        yield Chip("In order", "good", "All dependencies of this step came before")
    else:
        yield Chip("Out of order", "bad", "A dependency of this step is missing or came later")
    share = evidence.arguments or 0.0
    tone = "good" if not evidence.wrong_arguments else "warn" if share else "bad"
    yield Chip(f"Arguments {share:.0%}", tone, "Share of argument values equal to the ground truth")


def differences(evidence: Evidence, made: ToolCall, example: Example) -> Iterator[str]:
    """Yield a note for each argument that differs from the ground truth, with the expected value if that is unique."""
    if evidence.step is None:
        return
    meant = [call for call in example.steps[evidence.step].calls if call.name == made.name]
    for name in evidence.wrong_arguments:
        value = (meant[0].arguments or {}).get(name) if len(meant) == 1 else None
        expected = f": the ground truth has {json.dumps(value, ensure_ascii=False)}" if len(meant) == 1 else ""
        yield f"“{name}” differs{expected}."
