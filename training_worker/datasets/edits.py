"""Edits of a conversation by a person: texts, arguments and order of calls, rerun and validated before they apply.

Everything else is unchanged: the world, the offered tools, the style of the texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mcp_servers.catalogue import SERVERS, TOOLS, fingerprint
from mcp_servers.world import World

from ..core.trajectory import Example, Failure, Json, Step, ToolCall
from ..dataflow.provenance import value_edges
from ..environment.episode import Limits
from ..synthesis.alternatives import find_alternatives
from ..synthesis.dependence import with_edges
from ..synthesis.validate import Rejected, hidden_edges, validate


@dataclass(frozen=True)
class EditedCall:
    """A call of the edited conversation in a user turn, counted from 0.

    `was` is its step in the old conversation, if any; a `joined` call is parallel to the one before it.
    """

    tool: str
    arguments: dict[str, Json]
    turn: int
    was: int | None = None
    joined: bool = False


@dataclass(frozen=True)
class EditedConversation:
    """An edited conversation: the user's turns, the assistant's closing text of each, and the calls."""

    turns: tuple[str, ...]
    answers: tuple[str, ...]
    calls: tuple[EditedCall, ...]


def as_it_is(example: Example) -> EditedConversation:
    """Return the conversation as an edit without changes."""
    calls = [
        EditedCall(call.name, call.arguments or {}, step.turn, at, joined=place > 0)
        for at, step in enumerate(example.steps)
        for place, call in enumerate(step.calls)
    ]
    return EditedConversation(example.turns, example.answers, tuple(calls))


def apply_edits(id: str, before: Example, wanted: EditedConversation) -> Example:
    """Return the validated example of an edit. Raises Rejected, which says what is wrong and what to do."""
    check(before, wanted)
    groups, called = steps_of(wanted.calls), [one.tool for one in wanted.calls]
    failures = tuple(sorted(retain_failures(before, groups), key=lambda one: one.step))
    example = replace(
        before,
        id=id,
        kind="chain" if groups and before.abstains else before.kind,
        turns=wanted.turns,
        answers=wanted.answers,
        candidates=tuple(dict.fromkeys([*before.candidates, *(name for name in called if name not in before.offered)])),
        fingerprint=fingerprint(before.world.servers),
        acts=before.acts if wanted == as_it_is(before) else (),
        wording=before.wording if (wanted.turns, wanted.answers) == (before.turns, before.answers) else (),
    )
    example = run(example, groups, failures)
    if [call for step in example.steps for call in step.calls] == [c for step in before.steps for c in step.calls]:
        example = replace(example, edges=before.edges)
    else:
        found = {*value_edges(example.turns, example.steps, example.today), *retain_edges(before, groups)}
        proven = bool(before.fed or before.enabled)
        example = with_edges(example) if proven else hidden_edges(replace(example, edges=tuple(sorted(found))))
        lookups = [before.steps[one.step].calls[one.call] for one in before.alternatives]
        example = replace(example, alternatives=find_alternatives(example, lookups))
    validate(example)
    return example


def check(before: Example, wanted: EditedConversation) -> None:
    """Raise Rejected for an edit that cannot run."""
    if missing := [name for name in before.world.servers if name not in SERVERS]:
        raise Rejected(f"The server {', '.join(missing)} no longer exists, so the conversation cannot be rerun.")
    for number, (said, answer) in enumerate(zip(wanted.turns, wanted.answers, strict=True), 1):
        if not said.strip() or not answer.strip():
            who = "The user" if not said.strip() else "The assistant"
            raise Rejected(f"{who} says nothing in turn {number}. Enter a text.")
    if before.steps and not wanted.calls:
        raise Rejected("No call is left. Keep at least one, or reject the trajectory instead.")
    for number, one in enumerate(wanted.calls, 1):
        if one.tool not in TOOLS or TOOLS[one.tool][0].name not in before.world.servers:
            known, name = ", ".join(before.world.servers), one.tool or "without a name"
            raise Rejected(f"Call {number}: no server of this world ({known}) has a tool “{name}”. Choose another.")
    spoken, most = len(steps_of(wanted.calls)) + len(wanted.answers), Limits().assistant_turns
    if spoken > most:
        raise Rejected(f"The assistant would take {spoken} turns; a rollout has {most} at most. Remove calls.")


def steps_of(calls: Sequence[EditedCall]) -> list[list[EditedCall]]:
    """Group the calls by step; parallel calls form one step."""
    groups = list[list[EditedCall]]()
    for one in calls:
        if one.joined and groups and groups[-1][-1].turn == one.turn:
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def retain_failures(before: Example, groups: Sequence[Sequence[EditedCall]]) -> Iterator[Failure]:
    """Yield the recorded failures before the step that recovered from each, if that step still exists."""
    places = {one.was: at for at, group in reversed(list(enumerate(groups))) for one in group}
    for failure in before.failures:
        if failure.step == len(before.steps):
            yield replace(failure, step=len(groups))
        elif failure.step in places:
            at = places[failure.step]
            yield replace(failure, step=at, turn=groups[at][0].turn)


def run(example: Example, groups: Sequence[Sequence[EditedCall]], failures: Sequence[Failure]) -> Example:
    """Return the example with the replies and digests of a fresh world. Raises Rejected where a call is refused."""
    world = World.open(example.world.seed, example.world.servers, example.world.size)
    digests, steps, number = [world.digest()], list[Step](), 0
    replayed = list[Failure]()
    for at in range(len(groups) + 1):
        for failure in (one for one in failures if one.step == at):
            replayed.append(
                replace(failure, observation=world.call(failure.call.name, failure.call.arguments or {}).text)
            )
        texts = []
        for one in groups[at] if at < len(groups) else ():
            reply, number = world.call(one.tool, one.arguments), number + 1
            if not reply.ok:
                raise Rejected(f"Call {number}, {one.tool}, is refused: {reply.data['message']}")
            texts.append(reply.text)
        if at < len(groups):
            made = tuple(ToolCall(one.tool, one.arguments) for one in groups[at])
            steps.append(Step(made, groups[at][0].turn, tuple(texts)))
            digests.append(world.digest())
    return replace(example, steps=tuple(steps), digests=tuple(digests), failures=tuple(replayed))


def retain_edges(before: Example, groups: Sequence[Sequence[EditedCall]]) -> Iterator[tuple[int, int]]:
    """Yield the earlier proven edges between steps that still call the same tools in the same order."""
    same = {
        group[0].was: at
        for at, group in enumerate(groups)
        if group[0].was is not None
        and [one.tool for one in group] == [call.name for call in before.steps[group[0].was].calls]
    }
    for earlier, later in before.edges:
        if earlier in same and later in same and same[earlier] < same[later]:
            yield same[earlier], same[later]
