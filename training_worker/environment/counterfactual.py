"""Counterfactual rollouts: a rollout executed again without one of its calls, or with another call in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..chat.formats import HERMES
from ..chat.formats.hermes import Hermes
from ..core.trajectory import Example, ExecutedCall, Message, Rollout, ToolCall
from ..reward import PAPER, RewardConfig
from .episode import Attempt, Limits, measure

UNBOUND = 1_000_000  # no limit: the recorded calls and turns end the rollout as they did before


@dataclass(frozen=True)
class Edit:
    """An edit of the call at a position, from 0: another call in its place, or its removal if `instead` is None."""

    position: int
    instead: ToolCall | None = None


@dataclass(frozen=True)
class ReplayedCall:
    """A call of the edited rollout with its original; `before` is None for the call that replaces another."""

    number: int
    call: ExecutedCall
    before: ExecutedCall | None

    @property
    def differs(self) -> bool:
        return self.before is None or (self.before.level, self.before.observation) != (
            self.call.level,
            self.call.observation,
        )


@dataclass(frozen=True)
class Counterfactual:
    """Both rollouts, executed and scored on the current servers. `pairs` links the calls of both, by position."""

    before: Rollout
    after: Rollout
    pairs: tuple[tuple[int, int], ...]

    @property
    def calls(self) -> tuple[ReplayedCall, ...]:
        """Return the calls of the edited rollout, each with its original."""
        was = {now: then for then, now in self.pairs}
        made = enumerate(self.after.calls)
        return tuple(ReplayedCall(at + 1, call, self.before.calls[was[at]] if at in was else None) for at, call in made)


class ReplayFormat(Hermes):
    """A format in which a text is only the number of the assistant turn whose calls it stands for."""

    def __init__(self, turns: Mapping[int, Sequence[ToolCall]]):
        self.turns = turns

    def parse(self, text: str, most: int | None = None) -> tuple[ToolCall, ...]:
        return tuple(self.turns[int(text)][:most])


def counterfactual(example: Example, rollout: Rollout, edit: Edit, config: RewardConfig = PAPER) -> Counterfactual:
    """Run a rollout's calls again in fresh worlds, once unchanged and once edited.

    Argument values that came from earlier results, such as ids, are not adapted. Raises StaleExample, NotCertified and
    NotLive, as `Attempt` does.
    """
    positions = [at for at in range(len(rollout.calls)) if edit.instead is not None or at != edit.position]
    pairs = tuple((then, now) for now, then in enumerate(positions) if then != edit.position)
    before = rerun(example, rollout, rollout.calls, config)
    after = rerun(example, rollout, list(apply_edit(rollout.calls, edit)), config)
    return Counterfactual(before, after, tuple(pair for pair in pairs if pair[1] < len(after.calls)))


def apply_edit(calls: Sequence[ExecutedCall], edit: Edit) -> list[ExecutedCall]:
    """Return the calls with the edit applied; a removed call leaves no gap."""
    found = []
    for at, made in enumerate(calls):
        if at != edit.position:
            found.append(made)
        elif edit.instead is not None:
            found.append(replace(made, call=edit.instead))
    return found


def rerun(example: Example, rollout: Rollout, calls: Sequence[ExecutedCall], config: RewardConfig = PAPER) -> Rollout:
    """Run these calls in a fresh world, in the assistant turns that they name, with the user's turns as before.

    An assistant turn that lost all of its calls is skipped, because a turn without calls ends the user's turn.
    """
    texts = [message.content for message in rollout.transcript if message.role == "assistant"]
    turns = {made.turn for made in rollout.calls}
    given = {at: [made.call for made in calls if made.turn == at] for at in range(len(texts))}
    users = sum(message.role == "user" for message in rollout.transcript)
    limits = Limits(assistant_turns=UNBOUND, calls=UNBOUND, user_turns=max(1, users))
    attempt = Attempt(example, limits, format=ReplayFormat(given), reward=config)
    for at in range(len(texts)):
        if attempt.over:
            break
        if given[at] or at not in turns:
            attempt.answer(str(at), truncated=never_run(rollout, at))
    if not attempt.over:
        attempt.end, attempt.failed_at = rollout.end, rollout.failed_at
    done = attempt.finish()
    was = {at: [made.call for made in rollout.calls if made.turn == at] for at in given}
    said = {str(at): texts[at] if given[at] == was[at] else HERMES.write(given[at]) for at in given}
    done = replace(done, transcript=tuple(restore_text(message, said) for message in done.transcript))
    return measure(example, done) if done.reward else done


def restore_text(message: Message, said: Mapping[str, str]) -> Message:
    return Message("assistant", said[message.content]) if message.role == "assistant" else message


def never_run(rollout: Rollout, turn: int) -> bool:
    """Return whether this turn's text was truncated, so that none of its calls was run."""
    mine = [made for made in rollout.calls if made.turn == turn]
    last = sum(message.role == "assistant" for message in rollout.transcript) - 1
    return rollout.end == "tokens" and turn == last and all(not (made.level or made.observation) for made in mine)
