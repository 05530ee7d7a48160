"""The budget of calls that efficiency grants: how many were made, and from which on each costs."""

from __future__ import annotations

from dataclasses import dataclass

from training_worker.prove.reward import RewardConfig
from training_worker.prove.reward.efficiency import budget

MOST_SLOTS = 40  # drawn; beyond, the words have to do
SLOT, GAP = 10, 2  # in units of the picture


@dataclass(frozen=True)
class Slot:
    """One call that was or may be made: `kind` is due, slack or beyond; `used` where it was made."""

    number: int
    kind: str
    used: bool

    @property
    def x(self) -> int:
        return (self.number - 1) * (SLOT + GAP)


@dataclass(frozen=True)
class BudgetLine:
    """`used` calls of the `limit` that cost nothing, where the ground truth has `due`; each one beyond costs `price`
    points of the total."""

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
        """Where the budget ends in the picture."""
        return self.limit * (SLOT + GAP) - GAP // 2


def budget_line(used: int, due: int, config: RewardConfig) -> BudgetLine | None:
    """F = -alpha max(0, n - B) / B with B = n_gt + ceil(n_gt beta) (paper, section 3); None where nothing is due, or
    another form than the paper's counts."""
    if not due or config.form != "paper":
        return None
    limit = budget(due, config.beta)
    slots = tuple(
        Slot(number, "due" if number <= due else "slack" if number <= limit else "beyond", number <= used)
        for number in range(1, min(max(used, limit), MOST_SLOTS) + 1)
    )
    return BudgetLine(used, due, limit, config.efficiency * config.alpha / limit, slots)
