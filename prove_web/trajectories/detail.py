"""All that is known of a conversation beyond what was said: where values came from, what calls changed and earned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from prove_web.experiments.credit import SMALL, Ledger, ledger
from training_worker.prove.reward import PAPER, RewardConfig
from training_worker.prove.trajectory import Example, Rollout

from .alignment import Alignment, aligned
from .argument_sources import Traced, traced
from .breakdown import parts_of
from .budget import BudgetLine, budget_line
from .call_card import Argument, CallCard, Turn
from .json_spans import at_places, marked
from .state_effects import Effects, effects
from .waterfall import Waterfall, waterfall

LONG = 300  # characters of a result from which on it is folded, and written over lines


@dataclass(frozen=True)
class Anatomy:
    """`invented` of the `values` in arguments have no source. `why` says why no changes of the world are shown."""

    turns: list[Turn]
    alignment: Alignment
    waterfall: Waterfall | None
    budget: BudgetLine | None
    ledger: Ledger | None
    invented: int
    values: int
    why: str


def anatomy(turns: Sequence[Turn], rollout: Rollout, example: Example, config: RewardConfig = PAPER) -> Anatomy:
    """`rollout` is what was done, with its reward where it has one; a demonstration's own is recorded(example)."""
    found, done = traced(rollout, example, fed_by(turns)), effects(rollout, example)
    account, reward = ledger(rollout, example, config), rollout.reward
    due = sum(len(step.calls) for step in example.steps)
    drawn = None
    if reward and not reward.abstention:
        drawn = waterfall(parts_of(reward, config), reward.total, config.largest, by_component(account))
    return Anatomy(
        turns=list(numbered(turns, found, done, account)),
        alignment=aligned(example, rollout, reward),
        waterfall=drawn,
        budget=budget_line(len(rollout.calls), due, config) if reward else None,
        ledger=account,
        invented=found.invented,
        values=found.values,
        why=done.why,
    )


def sourced(turns: Sequence[Turn], rollout: Rollout, example: Example, side: str = "") -> list[Turn]:
    """Return the turns with the sources of their values alone: nothing is run. `side` begins their anchors."""
    own = [replace(turn, side=side, calls=tuple(replace(card, side=side) for card in turn.calls)) for turn in turns]
    return numbered(own, traced(rollout, example, fed_by(turns), side), Effects(), None)


def fed_by(turns: Sequence[Turn]) -> dict[int, list[int]]:
    """Return for each call the calls whose results fed it, by position."""
    cards = [card for turn in turns for card in turn.calls]
    return {card.position: [one.source for one in card.fed] for card in cards if card.position is not None}


def by_component(account: Ledger | None) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """The calls that earned and those that lost each component."""
    found: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    for line in account.lines if account else ():
        for entry in line.entries:
            if entry and line.call:
                earning, losing = found.get(entry.component, ((), ()))
                earning += (line.call,) * (entry.earned > SMALL)
                losing += (line.call,) * (entry.lost > SMALL)
                found[entry.component] = (earning, losing)
    return found


def numbered(turns: Sequence[Turn], found: Traced, done: Effects, account: Ledger | None) -> list[Turn]:
    """The turns with the user's numbered, and every card and text with what was found."""
    shown, number = list[Turn](), 0
    for turn in turns:
        number += turn.role == "user"
        if turn.role == "user":
            turn = replace(turn, number=number, pieces=at_places(turn.text, found.said.get(number, {})))
        shown.append(replace(turn, calls=tuple(full(card, found, done, account) for card in turn.calls)))
    return shown


def full(card: CallCard, found: Traced, done: Effects, account: Ledger | None) -> CallCard:
    """A card with its values' sources, its marks, its changes and its entries in the ledger."""
    at = card.position
    if at is None:
        return card
    marks, lines = found.results.get(at, {}), account.lines if account else ()
    return replace(
        card,
        values=tuple(Argument(name, pieces) for name, pieces in found.arguments.get(at, {}).items()),
        told=marked(card.result, marks, 2 if len(card.result) > LONG else None) if marks else (),
        changes=done.changes.get(at),
        otherwise=at in done.otherwise,
        entries=tuple(entry for line in lines if line.call == at + 1 for entry in line.entries if entry),
    )
