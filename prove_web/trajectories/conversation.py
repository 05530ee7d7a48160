"""A conversation as pages show it: turns, and in them tool calls as cards that say what each earned and who fed it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from mcp_servers.catalogue import TOOLS
from training_worker.prove.chat import CALL, parse_calls
from training_worker.prove.trajectory import Evidence, Example, ExecutedCall, Message, Reward, Rollout, ToolCall

from .provenance import Fed, feeds_by_edges, feeds_by_values

LEVELS = (
    ("Unknown or malformed", "Validity 0 of 3: no candidate tool has this name, or the call cannot be read"),
    ("Wrong form", "Validity 1 of 3: required arguments are missing or of another type"),
    ("Refused", "Validity 2 of 3: the form was right, the server refused"),
    ("Executed", "Validity 3 of 3: the call succeeded in the world"),
)
TONES = ("bad", "bad", "warn", "good")


@dataclass(frozen=True)
class Chip:
    """One short verdict; `tone` is good, warn, bad or plain, and `title` says why."""

    text: str
    tone: str = "plain"
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class CallCard:
    """One tool call. `position` counts the conversation's calls from 0, None for one that was not run at all.

    `result` is what the world answered, whole. `level` is the validity it reached (0 to 3), `step` the ground-truth
    step it stands for, from 0. `fed` names the earlier calls whose results its arguments come from.
    """

    position: int | None
    tool: str
    server: str
    arguments: dict[str, Any] | None
    result: str
    level: int
    step: int | None = None
    chips: tuple[Chip, ...] = ()
    notes: tuple[str, ...] = ()
    fed: tuple[Fed, ...] = ()
    evidence: Evidence | None = None

    @property
    def ok(self) -> bool:
        return self.level == len(LEVELS) - 1

    @property
    def matched(self) -> bool:
        return self.step is not None

    @property
    def number(self) -> int | None:
        """The position as people count."""
        return None if self.position is None else self.position + 1

    @property
    def anchor(self) -> str:
        """The card's address on its page."""
        return "" if self.position is None else f"call-{self.number}"


@dataclass(frozen=True)
class Turn:
    """What one side says, and the calls it makes with it. `raw` is the text as written where a call in it is broken."""

    role: str
    text: str
    calls: tuple[CallCard, ...] = ()
    raw: str = ""


def of_example(example: Example, reward: Reward | None = None) -> list[Turn]:
    """The demonstration: user turns, ground-truth steps with their recorded results, closing words.

    `reward` is the oracle's; with it each card tells what the call earned.
    """
    fed = feeds_by_edges(example)
    made = [
        (index, call, text)
        for index, step in enumerate(example.steps)
        for call, text in zip_longest(step.calls, step.observations[: len(step.calls)], fillvalue="")
    ]
    cards: dict[int, list[CallCard]] = {}
    for position, (step, call, text) in enumerate(made):
        executed = ExecutedCall(call, 3, text)
        cards.setdefault(step, []).append(card(position, executed, example, reward, fed.get(position, ()), step))
    turns: list[Turn] = []
    for number, words in enumerate(example.turns):
        turns.append(Turn("user", words))
        turns += [
            Turn("assistant", "", tuple(cards.get(index, ())))
            for index, step in enumerate(example.steps)
            if step.turn == number
        ]
        turns += [Turn("assistant", answer) for answer in example.answers[number : number + 1]]
    return turns


def of_rollout(rollout: Rollout, example: Example) -> list[Turn]:
    """The policy's attempt: its words, its calls with what became of each, and the user's turns."""
    fed = feeds_by_values(rollout)
    cards = [
        card(position, made, example, rollout.reward, fed.get(position, ()))
        for position, made in enumerate(rollout.calls)
    ]
    turns: list[Turn] = []
    assistant = -1
    for at, message in enumerate(rollout.transcript):
        if message.role == "assistant":
            assistant += 1
            mine = [one for one, made in zip(cards, rollout.calls, strict=True) if made.turn == assistant]
            turns.append(spoken(message, [*mine, *not_run(rollout.transcript[at:], len(mine))], rollout, at))
        elif message.role != "tool":
            turns.append(Turn(message.role, message.content))
    return turns


def spoken(message: Message, calls: Sequence[CallCard], rollout: Rollout, at: int) -> Turn:
    """An assistant's message: the words beside its calls, and the text itself where it could not be read as meant."""
    broken = any(call.arguments is None for call in calls)
    cut = rollout.end == "tokens" and at == len(rollout.transcript) - 1
    words = message.content if cut and not calls else CALL.sub("", message.content).strip()
    return Turn("assistant", words, tuple(calls), message.content if broken or (cut and bool(calls)) else "")


def not_run(rest: Sequence[Message], run: int) -> Iterator[CallCard]:
    """The calls of the first message that were answered but never run, being more than a conversation may make."""
    answers = []
    for message in rest[1:]:
        if message.role != "tool":
            break
        answers.append(message.content)
    written = parse_calls(rest[0].content, len(answers))
    for call, answer in list(zip(written, answers, strict=False))[run:]:
        yield CallCard(
            position=None,
            tool=call.name,
            server=server_of(call.name),
            arguments=call.arguments,
            result=answer,
            level=0,
            chips=(Chip("Not run", "bad", "It earns nothing and costs nothing"),),
        )


def card(
    position: int,
    made: ExecutedCall,
    example: Example,
    reward: Reward | None,
    fed: Iterable[Fed],
    step: int | None = None,
) -> CallCard:
    evidence = next((one for one in reward.evidence if one.call == position), None) if reward else None
    text, title = LEVELS[made.level]
    chips = [Chip(text, TONES[made.level], title)]
    return CallCard(
        position=position,
        tool=made.call.name,
        server=server_of(made.call.name),
        arguments=made.call.arguments,
        result=made.observation,
        level=made.level,
        step=evidence.step if evidence else step,
        chips=(*chips, *earned(evidence, abstains=example.abstains)) if evidence else tuple(chips),
        notes=tuple(differences(evidence, made.call, example)) if evidence else (),
        fed=tuple(fed),
        evidence=evidence,
    )


def earned(evidence: Evidence, *, abstains: bool) -> Iterator[Chip]:
    """What each component of the reward made of the call."""
    if abstains:
        yield Chip("No call was due", "bad", "The right act was to call nothing")
        return
    if evidence.step is None:
        name = ("Matches no step", "warn", "Its tool is one of the ground truth's, but no step is left for it")
        yield Chip(*name) if evidence.named else Chip("Not a needed tool", "bad", "The ground truth never calls it")
        return
    yield Chip(f"Step {evidence.step + 1}", "good", "The ground-truth step that this call was matched to")
    if evidence.in_order:
        yield Chip("In order", "good", "All steps that this one depends on came before")
    else:
        yield Chip("Out of order", "bad", "A step that this one depends on is missing or came later")
    share = evidence.arguments or 0.0
    tone = "good" if not evidence.wrong_arguments else "warn" if share else "bad"
    yield Chip(f"Arguments {share:.0%}", tone, "The share of the ground truth's argument values that are equal")


def differences(evidence: Evidence, made: ToolCall, example: Example) -> Iterator[str]:
    """For each argument that differs from the ground truth's, what that has instead."""
    if evidence.step is None:
        return
    meant = [call for call in example.steps[evidence.step].calls if call.name == made.name]
    for name in evidence.wrong_arguments:
        value = (meant[0].arguments or {}).get(name) if len(meant) == 1 else None
        expected = f": the ground truth has {json.dumps(value, ensure_ascii=False)}" if len(meant) == 1 else ""
        yield f"“{name}” differs{expected}."


def server_of(tool: str) -> str:
    """The server of a tool, empty for one that no server has."""
    return TOOLS[tool][0].name if tool in TOOLS else ""
