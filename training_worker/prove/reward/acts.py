"""Accuracy of acts: whether the policy called tools, asked back or only spoke, where that was right.

To decline and to answer are not told apart in free text, so both are the act "text".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from ..trajectory import Act, Example, ExecutedCall, Rollout, TurnAct

ACTS: tuple[TurnAct, ...] = get_args(TurnAct)
RIGHT: Mapping[Act, TurnAct] = {"call": "call", "ask": "ask", "decline": "text", "answer": "text"}
ActTable = list[list[int]]  # user turns by right act (rows) and by the policy's (columns), both in the order of ACTS
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
    """What the assistant did in a user turn: its calls, and the text that ended the turn, "" where none did."""

    calls: tuple[ExecutedCall, ...]
    text: str


def split_turns(rollout: Rollout) -> list[UserTurn]:
    """Return the user turns that the assistant spoke in."""
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
    """Return the right act and the policy's in each user turn that it reached; none where the right ones are unknown.

    Where the right act is to ask, a question at the end counts, whatever was looked up before it. In a turn in which
    some wishes are served and one is declined, to call is right.
    """
    served = {step.turn for step in example.steps}
    ends = (RIGHT[act] for act in example.acts)
    right: list[TurnAct] = ["call" if act == "text" and turn in served else act for turn, act in enumerate(ends)]
    return tuple((act, find_act(turn, act)) for act, turn in zip(right, split_turns(rollout), strict=False))


def find_act(turn: UserTurn, right: TurnAct) -> TurnAct:
    """Return what the policy did in a turn, where this act is right."""
    if turn.calls and right != "ask":
        return "call"
    if asks(turn.text):
        return "ask"
    return "call" if turn.calls else "text"


def asks(text: str) -> bool:
    """Return whether a text asks the user something; to offer more help, or what nobody wished for, is no question."""
    return bool(questions(text))


def questions(text: str) -> list[str]:
    """Return what a text asks the user, without what it quotes."""
    sentences = SENTENCE.findall(ADDRESS.sub("", QUOTED.sub("", text)))
    return [sentence.strip() for sentence in sentences if sentence.endswith("?") and not OFFER.search(sentence)]


def count_acts(rollouts: Iterable[Rollout]) -> ActTable:
    """Return how many user turns of these rollouts had which right act and which act of the policy."""
    table = [[0] * len(ACTS) for _ in ACTS]
    for rollout in rollouts:
        for right, done in rollout.acts:
            table[ACTS.index(right)][ACTS.index(done)] += 1
    return table


def act_accuracy(rollouts: Iterable[Rollout]) -> float | None:
    """Return the share of user turns whose act is right; None where no right act is known."""
    pairs = [right == done for rollout in rollouts for right, done in rollout.acts]
    return sum(pairs) / len(pairs) if pairs else None
