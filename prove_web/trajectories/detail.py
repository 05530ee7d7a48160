"""Analysis of a conversation: the sources of its values, and what its calls changed and earned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from mcp_servers.catalogue import SERVERS, fingerprint
from mcp_servers.world import World
from prove_web.experiments.credit import SMALL, Ledger, ledger
from prove_web.servers.tables import RowChange, changes
from training_worker.core.trajectory import Example, Rollout
from training_worker.reward import PAPER, RewardConfig
from training_worker.reward.efficiency import budget

from .alignment import Alignment, align_calls
from .argument_sources import ArgumentSources, trace_arguments
from .breakdown import Part, parts_of
from .call_card import Argument, CallCard, Turn
from .json_spans import at_places, mark_values

# The call budget of the efficiency component: the calls made, and from which one on each costs.

MOST_SLOTS = 40  # most that are drawn; the text covers longer budgets
SLOT, GAP = 10, 2  # in units of the picture


@dataclass(frozen=True)
class Slot:
    """A call that was or may be made: `kind` is due, slack or beyond; `used` if it was made."""

    number: int
    kind: str
    used: bool

    @property
    def x(self) -> int:
        return (self.number - 1) * (SLOT + GAP)


@dataclass(frozen=True)
class BudgetLine:
    """Call budget: `used` calls, of which up to `limit` are free; the ground truth has `due`.

    Each call beyond the limit costs `price` points of the total.
    """

    used: int
    due: int
    limit: int
    price: float
    slots: tuple[Slot, ...]

    @property
    def beyond(self) -> int:
        return max(0, self.used - self.limit)

    @property
    def cost(self) -> float:
        return self.beyond * self.price

    @property
    def length(self) -> int:
        return max(1, len(self.slots)) * (SLOT + GAP) - GAP

    @property
    def mark(self) -> int:
        """The end of the budget in the picture."""
        return self.limit * (SLOT + GAP) - GAP // 2


def budget_line(used: int, due: int, config: RewardConfig) -> BudgetLine | None:
    """Return the budget of F = -alpha max(0, n - B) / B with B = n_gt + ceil(n_gt beta) (paper, section 3).

    None if the ground truth has no calls, or the reward has another form than the paper's.
    """
    if not due or config.form != "paper":
        return None
    limit = budget(due, config.beta)
    slots = tuple(
        Slot(number, "due" if number <= due else "slack" if number <= limit else "beyond", number <= used)
        for number in range(1, min(max(used, limit), MOST_SLOTS) + 1)
    )
    return BudgetLine(used, due, limit, config.efficiency * config.alpha / limit, slots)


# Reward as a waterfall: each part begins where the previous one ended, and the last one ends at the total.

WIDTH = 100.0  # of the picture, in its own units


@dataclass(frozen=True)
class Bar:
    """A part from `start` to `end`, in points of the total; `left` and `width` in units of the picture.

    `earning` and `losing` are the calls, from 1, that earned and lost it, if known by call.
    """

    part: Part
    start: float
    end: float
    left: float
    width: float
    finish: float
    earning: tuple[int, ...] = ()
    losing: tuple[int, ...] = ()

    @property
    def takes(self) -> bool:
        return self.end < self.start

    @property
    def first(self) -> int | None:
        """The first call that lost points, else the first that earned some."""
        return min(self.losing or self.earning, default=None)


@dataclass(frozen=True)
class Waterfall:
    """Bars in the order of their sum; `zero` and `total` are the positions of 0 and of the total."""

    bars: tuple[Bar, ...]
    zero: float
    total: float
    left: float
    width: float


def waterfall(
    parts: Sequence[Part], total: float, most: float, calls: dict[str, tuple[tuple[int, ...], tuple[int, ...]]]
) -> Waterfall | None:
    """Return the bars of a total; None if it is not a sum of parts.

    `calls` has, by part, the calls that earned it and those that lost it.
    """
    if not parts:
        return None
    ends = [0.0]
    for part in parts:
        ends.append(ends[-1] + part.adds)
    low, high = min(0.0, *ends), max(most, total, *ends)

    def place(points: float) -> float:
        return round(WIDTH * (points - low) / ((high - low) or 1.0), 3)

    bars = tuple(
        Bar(
            part,
            start,
            end,
            left=place(min(start, end)),
            width=round(place(max(start, end)) - place(min(start, end)), 3),
            finish=place(end),
            earning=calls.get(part.name, ((), ()))[0],
            losing=calls.get(part.name, ((), ()))[1],
        )
        for part, start, end in zip(parts, ends, ends[1:], strict=False)
    )
    zero, finish = place(0.0), place(total)
    return Waterfall(bars, zero, finish, min(zero, finish), round(abs(finish - zero), 3))


# World changes by each call of a conversation, from one replay in a fresh world.


@dataclass
class Effects:
    """World changes of a replay.

    `changes` are by call, from 0; `otherwise` are the calls whose results differ now. `why` says why there are no
    changes, or no further ones.
    """

    changes: dict[int, tuple[RowChange, ...]] = field(default_factory=dict)
    otherwise: set[int] = field(default_factory=set)
    why: str = ""


def effects(rollout: Rollout, example: Example) -> Effects:
    """Replay a rollout and return the rows that each call that reached its world added, changed or removed."""
    where, found = example.world, Effects()
    if example.source or not rollout.calls:
        return found
    if missing := [name for name in where.servers if name not in SERVERS]:
        return Effects(why=f"Missing server: {', '.join(missing)}")
    if example.fingerprint != fingerprint(where.servers):
        return Effects(why="The servers behave differently now")
    world = World.open(where.seed, where.servers, where.size)
    for position, made in enumerate(rollout.calls):
        if not made.level or made.call.arguments is None:
            continue
        before = world.fork()
        try:
            reply = world.call(made.call.name, made.call.arguments)
        except Exception as error:  # a failing server ends the replay, not the page
            found.why = f"{made.call.name} failed ({type(error).__name__})"
            break
        found.changes[position] = tuple(changes(before, world))
        if reply.text != made.observation:
            found.otherwise.add(position)
    return found


LONG = 300  # characters from which a result is folded and written over several lines


@dataclass(frozen=True)
class Anatomy:
    """Analysis of a conversation.

    `invented` of the `values` in arguments have no source. `why` says why no world changes are shown.
    """

    turns: list[Turn]
    alignment: Alignment
    waterfall: Waterfall | None
    budget: BudgetLine | None
    ledger: Ledger | None
    invented: int
    values: int
    why: str


def anatomy(turns: Sequence[Turn], rollout: Rollout, example: Example, config: RewardConfig = PAPER) -> Anatomy:
    """Analyse a conversation; `rollout` carries its reward, if any.

    For a demonstration pass build_demonstration_rollout(example).
    """
    found, done = trace_arguments(rollout, example, fed_by(turns)), effects(rollout, example)
    account, reward = ledger(rollout, example, config), rollout.reward
    due = sum(len(step.calls) for step in example.steps)
    drawn = None
    if reward and not reward.abstention:
        drawn = waterfall(parts_of(reward, config), reward.total, config.largest, by_component(account))
    return Anatomy(
        turns=list(add_analysis(turns, found, done, account)),
        alignment=align_calls(example, rollout, reward),
        waterfall=drawn,
        budget=budget_line(len(rollout.calls), due, config) if reward else None,
        ledger=account,
        invented=found.invented,
        values=found.values,
        why=done.why,
    )


def add_value_sources(turns: Sequence[Turn], rollout: Rollout, example: Example, side: str = "") -> list[Turn]:
    """Return the turns with only the sources of their values; nothing is replayed. `side` is the prefix of anchors."""
    own = [replace(turn, side=side, calls=tuple(replace(card, side=side) for card in turn.calls)) for turn in turns]
    return add_analysis(own, trace_arguments(rollout, example, fed_by(turns), side), Effects(), None)


def fed_by(turns: Sequence[Turn]) -> dict[int, list[int]]:
    """Return for each call the calls whose results fed it, by position."""
    cards = [card for turn in turns for card in turn.calls]
    return {card.position: [one.source for one in card.fed] for card in cards if card.position is not None}


def by_component(account: Ledger | None) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return by component the calls that earned it and those that lost it."""
    found: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    for line in account.lines if account else ():
        for entry in line.entries:
            if entry and line.call:
                earning, losing = found.get(entry.component, ((), ()))
                earning += (line.call,) * (entry.earned > SMALL)
                losing += (line.call,) * (entry.lost > SMALL)
                found[entry.component] = (earning, losing)
    return found


def add_analysis(turns: Sequence[Turn], found: ArgumentSources, done: Effects, account: Ledger | None) -> list[Turn]:
    """Return the turns with user turns numbered, and with the analysis added to every card and text."""
    result, number = list[Turn](), 0
    for turn in turns:
        number += turn.role == "user"
        if turn.role == "user":
            turn = replace(turn, number=number, pieces=at_places(turn.text, found.said.get(number, {})))
        result.append(replace(turn, calls=tuple(add_call_analysis(card, found, done, account) for card in turn.calls)))
    return result


def add_call_analysis(card: CallCard, found: ArgumentSources, done: Effects, account: Ledger | None) -> CallCard:
    """Return a card with the sources of its values, its marks, its world changes and its ledger entries."""
    at = card.position
    if at is None:
        return card
    marks, lines = found.results.get(at, {}), account.lines if account else ()
    return replace(
        card,
        values=tuple(Argument(name, pieces) for name, pieces in found.arguments.get(at, {}).items()),
        pieces=mark_values(card.result, marks, 2 if len(card.result) > LONG else None) if marks else (),
        changes=done.changes.get(at),
        otherwise=at in done.otherwise,
        entries=tuple(entry for line in lines if line.call == at + 1 for entry in line.entries if entry),
    )
