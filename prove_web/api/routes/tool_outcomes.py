"""API operations for the outcomes of a run's calls by tool, and the call tree of a group."""

from __future__ import annotations

from typing import Any, Literal

from django.db.models import Max, Min
from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.environments.enabled_servers import list_enabled_servers
from prove_web.experiments.call_tree import build_call_tree
from prove_web.experiments.call_tree_layout import Branch
from prove_web.experiments.detail import run_of
from prove_web.experiments.group_pages import load_group
from prove_web.experiments.outcome_views import looked_at, parse_range
from prove_web.experiments.rollouts import NoRollouts
from prove_web.experiments.tool_outcomes import Line, Range, filter_lines

from ..errors import ApiError
from ..form_schemas import build_query_dict
from ..paging import Number
from ..permissions import in_project
from ..schemas import ADVANTAGE
from .run_metrics import Step
from .runs import RUN

router = Router(tags=["Metrics and rollouts"])
MOST = 10**9


class OutcomesQuery(Schema):
    """Range of steps, range to compare with, and filter of tools."""

    first: int | None = Field(None, alias="from", ge=0, le=MOST, description="First step; default: the run's first.")
    last: int | None = Field(None, alias="to", ge=0, le=MOST, description="Last step; default: the run's last.")
    against_from: int | None = Field(None, ge=0, le=MOST, description="First step of the comparison range.")
    against_to: int | None = Field(None, ge=0, le=MOST, description="Last step of the comparison range.")
    server: str = Field("", max_length=80)
    q: str = Field("", max_length=80, description="Words in the tool's name.")
    all: bool = Field(False, description="Include tools that no rollout needed or called.")


class OutcomeOut(Schema):
    """One outcome of a tool: its count, its share of the tool's chances, and its share in the comparison range."""

    outcome: str
    count: int
    share: float | None
    before: float | None


class ToolOutcomes(Schema):
    """`chances` are the calls of a tool plus the rollouts that needed it and did not call it; an empty `tool` stands
    for calls of unknown tools."""

    tool: str
    server: str
    chances: int
    calls: int
    outcomes: list[OutcomeOut]

    @staticmethod
    def resolve_outcomes(line: Line) -> list[Any]:
        return line.cells


class Outcomes(Schema):
    """`left` is the number of steps still to be counted: request again. Without rollouts there are no steps."""

    first: int | None
    last: int | None
    left: int
    tools: list[ToolOutcomes]


class BranchCall(Schema):
    """A call of a branch; `words` are its outcomes other than success."""

    tool: str
    arguments: str
    words: list[str]


class BranchOut(Schema):
    """Calls shared by the same rollouts up to the point where they diverge; `after` is the parent branch.

    `share` is the share of the reward variance explained by the next branch taken; `parts`: good and bad rollouts first
    diverge here. `ends` are the rollouts without further calls.
    """

    number: int
    after: int | None
    calls: list[BranchCall]
    rollouts: list[int]
    ends: list[int]
    mean: float | None
    share: float | None
    parts: bool


class GroupMember(Schema):
    index: int
    reward: float | None
    advantage: float | None = Field(description=ADVANTAGE)
    end: str


class GroupTree(Schema):
    """The calls of a group's rollouts as one tree, listed by branch; each branch follows its parent."""

    group: int
    example: str
    mean: float
    members: list[GroupMember]
    branches: list[BranchOut]


@router.get(f"{RUN}/tools/outcomes", response=Outcomes)
@in_project(Action.VIEW)
def read_outcomes(request: Any, run: Number, query: Query[OutcomesQuery]) -> Any:
    """Return the outcomes of each tool's calls over a range of steps, compared with another range."""
    found = run_of(request.project, run)
    known = found.stored_steps.aggregate(first=Min("step"), last=Max("step"))
    if known["first"] is None:
        return {**known, "left": 0, "tools": []}
    every, data = Range(known["first"], known["last"]), build_query_dict(query.dict(by_alias=True))
    steps, against = parse_range(data, "", every) or every, parse_range(data, "against_", every)
    left, lines = looked_at(found, steps, against, list_enabled_servers(request.project))
    tools = filter_lines(lines, server=query.server, words=query.q, seen=not query.all)
    return {"first": steps.first, "last": steps.last, "left": left, "tools": tools}


@router.get(f"{RUN}/rollouts/{{int:step}}/groups/{{int:group}}", response=GroupTree)
@in_project(Action.VIEW)
def read_group(
    request: Any, run: Number, step: Step, group: Number, by: Literal["arguments", "tool"] = "arguments"
) -> Any:
    """Return the rollouts of one prompt as a tree of calls, and the first call where good and bad rollouts diverge."""
    found = run_of(request.project, run)
    try:
        one, rollouts, _ = load_group(found, step, group)
    except NoRollouts as why:
        raise ApiError(404, str(why), request.path, "Choose another step.") from None
    branches: list[dict[str, Any]] = []
    laid_out(build_call_tree(one, rollouts, by).drawn, None, branches)
    return {"group": one.number, "example": one.name, "mean": one.mean, "members": one.members, "branches": branches}


def laid_out(branch: Branch, after: int | None, branches: list[dict[str, Any]]) -> None:
    branches.append(
        {
            "number": branch.fork,
            "after": after,
            "calls": branch.calls,
            "rollouts": [member.index for member in branch.members],
            "ends": [member.index for member in branch.stops],
            "mean": branch.mean,
            "share": branch.share,
            "parts": branch.first,
        }
    )
    for way in branch.ways:
        laid_out(way, branch.fork, branches)
