"""Conversation for pages: turns, with tool calls as cards that show what each earned and which results fed it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from mcp_servers.catalogue import TOOLS
from training_worker.chat.formats import FORMATS, Format
from training_worker.chat.messages import ARRIVED
from training_worker.core.trajectory import Example, ExecutedCall, Failure, Message, Reward, Rollout, ToolCall

from .call_badges import Chip, differences, iter_reward_chips, level_chip
from .call_card import CallCard, Turn
from .json_spans import as_json
from .provenance import SourceCall, feeds_by_edges, feeds_by_values

__all__ = ["CallCard", "Turn", "of_example", "of_rollout"]

RECOVERIES = {
    "corrected": "Failed, then corrected",
    "other_tool": "Failed, then another tool",
    "gave_up": "Failed, and explained",
}
RECORDED = Chip("As recorded", "plain", "Imported: not run here")


def of_example(example: Example, reward: Reward | None = None) -> list[Turn]:
    """Return the turns of a demonstration: user turns, ground-truth steps with recorded results, failures and answers.

    With the oracle's `reward`, each card shows what the call earned.
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
        call_card = card(position, executed, example, reward, fed.get(position, ()), step)
        others = [one.other for one in example.alternatives if (one.step, one.call) == (step, len(cards.get(step, ())))]
        cards.setdefault(step, []).append(replace(call_card, alternatives=tuple(map(in_one_line, others))))
    turns = [Turn("system", example.system)] if example.system else []
    for number, words in enumerate(example.turns):
        turns.append(Turn("user", words, new_tools=example.new_tools(number)))
        failures = [failure for failure in example.failures if failure.turn == number]
        own = [index for index, step in enumerate(example.steps) if step.turn == number]
        for index in own:
            turns += [build_failed_turn(failure) for failure in failures if failure.step == index]
            turns.append(Turn("assistant", "", tuple(cards.get(index, ()))))
        turns += [build_failed_turn(failure) for failure in failures if failure.step not in own]
        turns += [Turn("assistant", answer) for answer in example.answers[number : number + 1]]
    return turns


def in_one_line(call: ToolCall) -> str:
    """Return a call as it would be written in code."""
    arguments = (f"{name}={as_json(value)}" for name, value in (call.arguments or {}).items())
    return f"{call.name}({', '.join(arguments)})"


def build_failed_turn(failure: Failure) -> Turn:
    """Return a turn for a call that failed during synthesis, with how the conversation recovered."""
    call = failure.call
    return Turn(
        "assistant",
        "",
        (
            CallCard(
                position=None,
                tool=call.name,
                server=server_of(call.name),
                arguments=call.arguments,
                result=failure.observation,
                level=2,
                chips=(level_chip(2), Chip(RECOVERIES[failure.recovery], "plain", "Not part of the ground truth")),
            ),
        ),
    )


def of_rollout(rollout: Rollout, example: Example | None = None) -> list[Turn]:
    """Return the turns of a rollout: its messages, its calls with their outcomes, and the user's turns.

    Without an example, as for a benchmark item, tools belong to no server here. A tool message without a visible call
    (in a conversation that a benchmark starts with) is a turn of its own.
    """
    fed = feeds_by_values(rollout)
    cards = [
        card(position, made, example, rollout.reward, fed.get(position, ()))
        for position, made in enumerate(rollout.calls)
    ]
    turns: list[Turn] = []
    assistant, user, answers = -1, -1, 0
    for at, message in enumerate(rollout.transcript):
        if message.role == "assistant":
            assistant += 1
            mine = [one for one, made in zip(cards, rollout.calls, strict=True) if made.turn == assistant]
            call_cards = [*mine, *not_run(rollout.transcript[at:], mine)]
            turns.append(build_assistant_turn(message, call_cards, rollout, at))
            answers = len(call_cards)
        elif message.role != "tool":
            user += message.role == "user"
            turns.append(text_turn(message, user, example))
        elif answers:
            answers -= 1
        else:
            turns.append(Turn("tool", message.content))
    return turns


def text_turn(message: Message, user: int, example: Example | None) -> Turn:
    """Return the turn of a user or system message; tools added in a user turn (from 0) are separate from its text."""
    arrive = example.new_tools(user) if example and message.role == "user" else ()
    if example and arrive and message.content.startswith(f"{example.turns[user]}\n\n{ARRIVED}"):
        return Turn("user", example.turns[user], new_tools=arrive)
    return Turn(message.role, message.content)


def build_assistant_turn(message: Message, calls: Sequence[CallCard], rollout: Rollout, at: int) -> Turn:
    """Return an assistant turn: the text beside its calls, and the raw text if it could not be parsed as intended."""
    broken = any(call.arguments is None for call in calls)
    cut = rollout.end == "tokens" and at == len(rollout.transcript) - 1
    words = message.content if cut and not calls else format_of(message.content, calls).strip_calls(message.content)
    return Turn("assistant", words, tuple(calls), message.content if broken or (cut and bool(calls)) else "")


def format_of(text: str, calls: Sequence[CallCard], answers: int = 0) -> Format:
    """Return the first format that parses the text into the known calls and at least `answers` calls."""
    made = [(call.tool, call.arguments) for call in calls]
    for form in FORMATS:
        found = [(call.name, call.arguments) for call in form.parse(text, max(answers, len(made)))]
        if found[: len(made)] == made and len(found) >= answers:
            return form
    return FORMATS[0]


def not_run(rest: Sequence[Message], run: Sequence[CallCard]) -> Iterator[CallCard]:
    """Yield the calls of the first message that were answered but never run, because they exceeded the call limit."""
    answers = []
    for message in rest[1:]:
        if message.role != "tool":
            break
        answers.append(message.content)
    written = format_of(rest[0].content, run, len(answers)).parse(rest[0].content, len(answers))
    for call, answer in list(zip(written, answers, strict=False))[len(run) :]:
        yield CallCard(
            position=None,
            tool=call.name,
            server=server_of(call.name),
            arguments=call.arguments,
            result=answer,
            level=0,
            chips=(Chip("Not run", "bad", "No effect on the reward"),),
        )


def card(
    position: int,
    made: ExecutedCall,
    example: Example | None,
    reward: Reward | None,
    fed: Iterable[SourceCall],
    step: int | None = None,
) -> CallCard:
    reward = reward if example else None
    evidence = next((one for one in reward.evidence if one.call == position), None) if reward else None
    said = (
        iter_reward_chips(evidence, abstains=example.abstains)
        if example and evidence and made.call.arguments is not None
        else ()
    )
    return CallCard(
        position=position,
        tool=made.call.name,
        server=server_of(made.call.name) if example and not example.source else "",
        arguments=made.call.arguments,
        result=made.observation,
        level=made.level,
        step=evidence.step if evidence else step,
        chips=(RECORDED if example and example.source and step is not None else level_chip(made.level), *said),
        notes=tuple(differences(evidence, made.call, example)) if example and evidence else (),
        fed=tuple(fed),
        evidence=evidence,
    )


def server_of(tool: str) -> str:
    """Return the server of a tool; empty for an unknown tool."""
    return TOOLS[tool][0].name if tool in TOOLS else ""
