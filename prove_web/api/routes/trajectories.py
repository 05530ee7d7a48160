"""API operations for trajectories: search, read, replay, and score with another reward."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any, Literal

from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.experiments.what_if.pages import answer
from prove_web.experiments.what_if.params import parse_params as reward_asked
from prove_web.review.blinding import Blind, blind_since, hide_reward
from prove_web.trajectories.detail_context import load_scored_rollout
from prove_web.trajectories.models import Trajectory
from prove_web.trajectories.paging import SIZE, Order, page_of
from prove_web.trajectories.replay_score import example_of, judge
from prove_web.trajectories.search import search
from prove_web.trajectories.views.lookup import one_of, one_trajectory
from prove_web.trajectories.what_if import BLIND, NotPossible
from prove_web.trajectories.what_if import run as rerun
from training_worker.core.trajectory import Example, Rollout, ToolCall, dumps
from training_worker.environment.counterfactual import Edit
from training_worker.reward import RewardConfig

from ..errors import ApiError
from ..form_schemas import build_query_dict
from ..paging import Number
from ..permissions import in_project
from ..schemas import StrictSchema
from .datasets import DATASET

router = Router(tags=["Trajectories"])
IN_PROJECT = "/{slug:organisation}/{slug:project}"
TRAJECTORY = f"{DATASET}/trajectories/{{slug:example}}"
Sort = Literal["made", "-made", "reward", "-reward", "length", "-length", "-errors"]
BEHIND = Query("", max_length=20, pattern=r"^[0-9]*$", description="`next` of the previous page; empty for the first.")


class TrajectoryRow(Schema):
    """A trajectory as listed; reward components are null if there is no reward.

    `features` are its kinds of difficulty, `path` is the number of steps on the longest dependency path.
    """

    dataset: int
    example: str
    split: str
    kind: str
    query: str
    servers: list[str]
    tools: list[str]
    features: list[str]
    steps: int
    path: int
    length: int
    errors: int
    reward: float | None
    validity: float | None
    coverage: float | None
    efficiency: float | None
    name: float | None
    arguments: float | None
    run: int | None
    url: str

    @staticmethod
    def resolve_dataset(row: Trajectory) -> int:
        return row.dataset.number

    @staticmethod
    def resolve_servers(row: Trajectory) -> list[str]:
        return [*filter(None, row.servers.split(","))]

    @staticmethod
    def resolve_tools(row: Trajectory) -> list[str]:
        return [*filter(None, row.tools.split(","))]

    @staticmethod
    def resolve_features(row: Trajectory) -> list[str]:
        return [*filter(None, row.features.split(","))]

    @staticmethod
    def resolve_url(row: Trajectory) -> str:
        return row.get_absolute_url()


class TrajectoryPage(Schema):
    """`count` is the number of matches, up to 10,000; `more` if there are more."""

    items: list[TrajectoryRow]
    next: str | None
    count: int
    more: bool


class TrajectoryDetail(TrajectoryRow):
    """`record` is the conversation and its ground truth, `rollout` the rollout of a policy.

    Rewards are hidden while your blind review is pending (`blind`).
    """

    record: dict[str, Any]
    rollout: dict[str, Any] | None
    origin: dict[str, Any]
    blind: bool


class Verdict(Schema):
    """The result of replaying a demonstration on the current servers; `problem` is the reason if there is none."""

    reward: dict[str, Any] | None
    problem: str


class EditBody(StrictSchema):
    """One call to remove or replace."""

    call: int = Field(ge=1, le=100_000, description="Call number, from 1.")
    tool: str = Field("", max_length=200, description="Empty to remove the call.")
    arguments: dict[str, Any] = {}


class WhatIf(Schema):
    """The rewards before and after, with their evidence; null if there is none."""

    before: dict[str, Any] | None
    after: dict[str, Any] | None


class RescoreResult(Schema):
    """`looked` of `all` rollouts; `without` of them have no reward and `stale` can't be compared because the code
    changed."""

    config: dict[str, Any]
    looked: int
    all: int
    without: int
    stale: int
    why: str
    mean_before: float | None
    mean_after: float | None
    spread_before: float | None
    spread_after: float | None
    rank: float | None


@router.get(f"{IN_PROJECT}/trajectories", response=TrajectoryPage)
@in_project(Action.VIEW)
def list_trajectories(
    request: Any,
    q: Annotated[str, Query(max_length=1_100, description="Search, such as `tool:create_event reward<0.5`.")] = "",
    dataset: Annotated[int | None, Query(ge=1, le=10**9 - 1, description="Limit to this dataset.")] = None,
    sort: Sort = "-made",
    cursor: str = BEHIND,
) -> Any:
    """Search the trajectories of a project, 50 per page."""
    within = one_of(request.project, dataset) if dataset else None
    blind = Blind(request.user, request.project)
    found = search(request.project, " ".join(q.splitlines()), within, blind)
    if found.fault:
        text = f"At character {found.fault.at + 1}: {found.fault.message}"
        raise ApiError(422, text, "query.q", "Change the query; the trajectories page autocompletes it.")
    page = page_of(
        request.project, found.rows, build_query_dict({"after": cursor} if cursor else {}), Order(sort, blind)
    )
    following = str(page.later) if page.later and len(page.rows) == SIZE else None
    blind.cover(page.rows)
    rows = [with_project(row, request.project) for row in page.rows]
    return {"items": rows, "next": following, "count": page.count, "more": page.more}


def with_project(row: Trajectory, project: Any) -> Trajectory:
    row.dataset.project = project
    return row


@router.get(TRAJECTORY, response=TrajectoryDetail)
@in_project(Action.VIEW)
def read_trajectory(request: Any, dataset: Number, example: str) -> Any:
    """Return one trajectory with its record and, if it is a rollout, the policy's actions."""
    found = one_trajectory(request.project, dataset, example)
    found.blind = blind_since(found, request.user) is not None
    if found.parent and blind_since(found.parent, request.user) is not None:
        found.origin = {name: value for name, value in found.origin.items() if name != "edited"}
    return hide_reward(found) if found.blind else found


@router.get(f"{TRAJECTORY}/verdict", response=Verdict)
@in_project(Action.VIEW)
def read_verdict(request: Any, dataset: Number, example: str) -> Any:
    """Replay a demonstration in a new world and score it."""
    found = get_unblinded(request, dataset, example)
    known = example_of(found)
    if known is None:
        return {"reward": None, "problem": "This version of the site can't read this trajectory."}
    verdict = judge(known)
    return {"reward": json.loads(dumps(verdict.reward)) if verdict.reward else None, "problem": verdict.problem}


@router.post(f"{TRAJECTORY}/what-if", response=WhatIf)
@in_project(Action.VIEW)
def edit_trajectory(request: Any, dataset: Number, example: str, body: EditBody) -> Any:
    """Return the reward without one of the calls, or with another in its place; nothing is stored."""
    found = get_unblinded(request, dataset, example)
    known = example_of(found)
    if known is None:
        raise ApiError(422, "This trajectory can't be read, so it can't be replayed.", "", "Choose another.")
    rollout, _, config, _ = load_scored_rollout(found, known)
    return score_edit(known, rollout, config, body)


def score_edit(known: Example, rollout: Rollout, config: RewardConfig, body: EditBody) -> dict[str, Any]:
    """Return both rewards as JSON. Raises Refused."""
    if body.call > len(rollout.calls):
        raise ApiError(422, f"The trajectory has {len(rollout.calls)} calls.", "body.call", "Choose one of them.")
    edit = Edit(body.call - 1, ToolCall(body.tool, body.arguments)) if body.tool else Edit(body.call - 1)
    try:
        made = rerun(known, rollout, edit, config)
    except NotPossible as why:
        raise ApiError(422, str(why), "body", "Choose another call, or another trajectory.") from None
    rewards = {"before": made.before.reward, "after": made.after.reward}
    return {name: json.loads(dumps(reward)) if reward else None for name, reward in rewards.items()}


def get_unblinded(request: Any, dataset: int, example: str) -> Trajectory:
    """Return a trajectory whose reward the user may see. Raises Refused."""
    found: Trajectory = one_trajectory(request.project, dataset, example)
    if blind_since(found, request.user) is not None:
        raise ApiError(409, BLIND, request.path, "Complete your review first.")
    return found


class Rescore(Schema):
    """The source of the rollouts, and the reward."""

    of: str = Field("", max_length=30, description="run-3 or dataset-2; default: the newest run.")
    preset: str = Field("", max_length=40, description="Reward preset, or saved-4 for a saved reward.")
    first: int | None = Field(None, ge=0, le=10**9 - 1, description="First step of a run.")
    last: int | None = Field(None, ge=0, le=10**9 - 1)
    most: Literal[2_000, 20_000, 100_000] = Field(20_000, description="Maximum number of rollouts.")


@router.get(f"{IN_PROJECT}/what-if", response=RescoreResult)
@in_project(Action.VIEW)
def rescore(request: Any, query: Query[Rescore]) -> Any:
    """Score a run's rollouts or a dataset with another reward (reward replay). Weights are further parameters such as
    `coverage=0.5`, named as in the reward's configuration."""
    want = reward_asked(request.project, request.GET.dict())
    if want.source is None:
        raise ApiError(404, "There is nothing to score.", "query.of", "Choose a run or a dataset, such as run-3.")
    if query.of and want.source.name != query.of:
        raise ApiError(404, f"Source {query.of} not found.", "query.of", "Choose a run or a dataset, such as run-3.")
    if want.fault:
        raise ApiError(422, want.fault, "query", "Change this weight.")
    result = answer(want, Blind(request.user, request.project))
    found = result.compared
    mean, spread = (found.mean, found.spread) if found else ((None, None), (None, None))
    return {
        "config": asdict(want.config),
        **{name: getattr(result, name) for name in ("looked", "all", "without", "stale", "why")},
        "mean_before": mean[0],
        "mean_after": mean[1],
        "spread_before": spread[0],
        "spread_after": spread[1],
        "rank": found.rank if found else None,
    }
