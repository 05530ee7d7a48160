"""Filtering and sorting of a step's rollouts on columns, without parsing the rollouts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .record import COMPONENTS, Summary
from .steps import SHORT, columns_of, read_short, summary_of

BESIDE = ("prompt_tokens", "completion_tokens", "seconds", "truncated", "terms")
DEFAULT_COLUMNS = tuple(name for name in SHORT.names if name not in BESIDE)
ORDERS = ("index", "reward", "advantage", "calls", "failed_calls", "model_tokens", *COMPONENTS)


@dataclass(frozen=True, kw_only=True)
class RolloutFilter:
    """A filter whose conditions must all hold for a rollout; "" and None are no condition.

    `low` and `high` are inclusive bounds of the reward; `component` must be below `below`; with both `tool` and
    `outcome`, a single call must have both.
    """

    low: float | None = None
    high: float | None = None
    component: str = ""
    below: float | None = None
    tool: str = ""
    outcome: str = ""
    end: str = ""
    example: str = ""

    def __bool__(self) -> bool:
        return any(getattr(self, one.name) not in ("", None) for one in fields(self))


class StepTable:
    """The summaries of one step's rollouts as columns."""

    def __init__(self, table: pa.Table):
        self.table = table

    @classmethod
    def read(cls, path: Path, *, every_column: bool = True) -> StepTable:
        """Read all columns, or only those that a page shows. Raises DamagedFile, FileNotFoundError."""
        return cls(read_short(path, SHORT.names if every_column else DEFAULT_COLUMNS))

    @classmethod
    def from_summaries(cls, summaries: list[Summary]) -> StepTable:
        return cls(pa.table(columns_of(summaries), SHORT))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def column(self, name: str) -> list[Any]:
        """Return a column's values; all None if an older file lacks the column."""
        return self.table[name].to_pylist() if name in self.table.column_names else [None] * len(self)

    def filter_rollouts(self, wanted: RolloutFilter) -> StepTable:
        """Return the rollouts that match the filter, in order."""
        table = self.table
        for name, holds, bound in (
            ("reward", pc.greater_equal, wanted.low),
            ("reward", pc.less_equal, wanted.high),
            (wanted.component, pc.less, wanted.below if wanted.component else None),
            ("end", pc.equal, wanted.end or None),
            ("example", pc.equal, wanted.example or None),
        ):
            if bound is not None:
                if name not in table.column_names:
                    return StepTable(table.slice(0, 0))
                table = table.filter(holds(table[name], bound))
        return StepTable(filter_by_call(table, wanted.tool, wanted.outcome))

    def sort_rows(self, by: str, falling: bool = False) -> StepTable:
        """Sort by one of ORDERS, rollouts without a value last in both directions, ties by index."""
        if by not in self.table.column_names:
            return self
        keys = [(by, "descending" if falling else "ascending"), ("index", "ascending")]
        found = pc.sort_indices(self.table, sort_keys=keys)  # nulls last
        return StepTable(self.table.take(found))

    def of_groups(self, numbers: list[int]) -> StepTable:
        return StepTable(self.table.filter(pc.is_in(self.table["group"], pa.array(numbers, pa.int32()))))

    def list_summaries(self, start: int = 0, count: int | None = None) -> list[Summary]:
        return [summary_of(row) for row in self.table.slice(start, count).to_pylist()]


def filter_by_call(table: pa.Table, tool: str, outcome: str) -> pa.Table:
    """Return the rows with a call of this tool and this outcome."""
    wanted = {name: value for name, value in (("tools", tool), ("outcomes", outcome)) if value}
    if not wanted:
        return table
    if "outcomes" in wanted:  # rollouts without a reward have calls but no outcomes, and both lists need equal lengths
        if "outcomes" not in table.column_names:
            return table.slice(0, 0)
        table = table.filter(pc.equal(pc.list_value_length(table["tools"]), pc.list_value_length(table["outcomes"])))
    parents = pc.list_parent_indices(table["tools"].combine_chunks())
    holds = [pc.equal(pc.list_flatten(table[name].combine_chunks()), value) for name, value in wanted.items()]
    return table.take(pc.unique(parents.filter(reduce(pc.and_, holds))))
