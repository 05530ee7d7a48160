"""Act accuracy: whether the policy called tools, asked back or answered in text where that was right.

Declining and answering are not distinguished in free text, so both are the act "text".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from ..core.trajectory import Act, Example, ExecutedCall, Rollout, TurnAct

ACTS: tuple[TurnAct, ...] = get_args(TurnAct)
RIGHT: Mapping[Act, TurnAct] = {"call": "call", "ask": "ask", "decline": "text", "answer": "text"}
ActTable = list[list[int]]  # user turns by right act (rows) and the policy's act (columns), both in the order of ACTS
QUOTED = re.compile(r'"[^"]*"')
ADDRESS = re.compile(r"https?://\S+")
SENTENCE = re.compile(r"[^.!?\n]++[.!?]*+")
OFFER = re.compile(
    r"\b(?:else|anything more)\b"
    r"|^\W*(?:would you like me to|do you want me to|shall i|(?:how )?(?:can|may) i (?:help|assist))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class UserTurn:
    """The assistant's part of a user turn: its calls, and the text that ended the turn, "" for none."""

    calls: tuple[ExecutedCall, ...]
    text: str


def split_turns(rollout: Rollout) -> list[UserTurn]:
    """Return the user turns with at least one assistant message."""
    turns: list[tuple[list[int], str]] = []
    spoken = 0
    for message in rollout.transcript:
        if message.role == "user":
            turns.append(([], ""))
        elif turns and message.role == "assistant":
            turns[-1] = ([*turns[-1][0], spoken], message.content)
            spoken += 1
        elif turns and message.role == "tool":
            turns[-1] = (turns[-1][0], "")
    return [
        UserTurn(tuple(call for call in rollout.calls if call.turn in numbers), text)
        for numbers, text in turns
        if numbers
    ]


def compare_acts(example: Example, rollout: Rollout) -> tuple[tuple[TurnAct, TurnAct], ...]:
    """Return the right act and the policy's act in each user turn it reached; empty if the right acts are unknown.

    If the right act is to ask, a question at the end counts, even after calls. In a turn in which some requests are
    served and one is declined, calling is right.
    """
    served = {step.turn for step in example.steps}
    ends = (RIGHT[act] for act in example.acts)
    right: list[TurnAct] = ["call" if act == "text" and turn in served else act for turn, act in enumerate(ends)]
    return tuple((act, find_act(turn, act)) for act, turn in zip(right, split_turns(rollout), strict=False))


def find_act(turn: UserTurn, right: TurnAct) -> TurnAct:
    """Return the policy's act in a turn whose right act is given."""
    if turn.calls and right != "ask":
        return "call"
    if has_question(turn.text):
        return "ask"
    return "call" if turn.calls else "text"


def has_question(text: str) -> bool:
    """Return whether a text asks the user a question; offers of more help or of unrequested actions do not count."""
    return bool(questions(text))


def questions(text: str) -> list[str]:
    """Return the questions in a text, without quoted text."""
    sentences = SENTENCE.findall(ADDRESS.sub("", QUOTED.sub("", text)))
    return [sentence.strip() for sentence in sentences if sentence.endswith("?") and not OFFER.search(sentence)]


def count_acts(rollouts: Iterable[Rollout]) -> ActTable:
    """Count the user turns of these rollouts by right act and the policy's act."""
    table = [[0] * len(ACTS) for _ in ACTS]
    for rollout in rollouts:
        for right, done in rollout.acts:
            table[ACTS.index(right)][ACTS.index(done)] += 1
    return table


def act_accuracy(rollouts: Iterable[Rollout]) -> float | None:
    """Return the share of user turns with the right act; None if no right act is known."""
    pairs = [right == done for rollout in rollouts for right, done in rollout.acts]
    return sum(pairs) / len(pairs) if pairs else None
