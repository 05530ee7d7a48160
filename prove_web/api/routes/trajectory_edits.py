"""API operations for editing a trajectory: words, arguments and order, validated in a new world."""

from __future__ import annotations

import json
from typing import Annotated, Any

from ninja import Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.review.blinding import Blind
from prove_web.trajectories.call_fields import as_json
from prove_web.trajectories.edit_form import MOST_ROWS, Draft, Row, validate_draft, wanted_of
from prove_web.trajectories.edit_services import NotMendable, build_initial_edit, explain_rejection, mendable, run
from prove_web.trajectories.entered_arguments import LONGEST
from prove_web.trajectories.manual_dataset import add_manual_example
from prove_web.trajectories.models import Trajectory
from prove_web.trajectories.replay_score import Verdict as Judged
from prove_web.trajectories.replay_score import rollout_of
from prove_web.trajectories.views.lookup import one_trajectory
from training_worker.core.trajectory import Example, dumps
from training_worker.datasets.edits import EditedConversation, apply_edits
from training_worker.synthesis.validate import Rejected

from ..errors import ApiError
from ..paging import Cursor, Limit, Number, Piece, by_key
from ..permissions import in_project
from ..schemas import StrictSchema
from .trajectories import IN_PROJECT, TRAJECTORY, TrajectoryRow, Verdict, with_project

router = Router(tags=["Trajectories"])
SpokenText = Annotated[str, Field(max_length=LONGEST)]


class FixedCall(StrictSchema):
    """A call of the edited trajectory. `was` is its previous step, from 0; a `joined` call runs in parallel with the
    one before it."""

    tool: str = Field(max_length=200)
    arguments: dict[str, Any] = {}
    turn: int = Field(ge=1, le=1_000, description="Number of the user turn, from 1.")
    was: int | None = Field(None, ge=0, le=99_999)
    joined: bool = False


class FixedConversation(StrictSchema):
    """The whole edited conversation: the same number of turns, and the assistant's final message of each."""

    turns: list[SpokenText] = Field(min_length=1, max_length=1_000)
    answers: list[SpokenText] = Field(min_length=1, max_length=1_000)
    calls: list[FixedCall] = Field([], max_length=MOST_ROWS)


class FixTried(Schema):
    """The result in a new world: each call's observation, and the reward after and before; `same` if nothing was
    changed. Rewards are hidden while your blind review is pending."""

    results: list[str]
    held: Verdict
    before: Verdict | None
    same: bool


class Correction(TrajectoryRow):
    """An edited trajectory, with its source."""

    of_dataset: int
    of_example: str

    @staticmethod
    def resolve_of_dataset(row: Trajectory) -> int:
        return int(row.parent.dataset.number)

    @staticmethod
    def resolve_of_example(row: Trajectory) -> str:
        return str(row.parent.example)


@router.get(f"{TRAJECTORY}/fix", response=FixedConversation)
@in_project(Action.ANNOTATE)
def read_fix(request: Any, dataset: Number, example: str) -> Any:
    """Return the conversation for editing; for a rollout, only the calls that succeeded."""
    found = one_trajectory(request.project, dataset, example)
    start = build_initial_edit(get_example(found), rollout_of(found))
    calls = [
        {"tool": one.tool, "arguments": one.arguments, "turn": one.turn + 1, "was": one.was, "joined": one.joined}
        for one in start.calls
    ]
    answers = [*start.answers, *("" for _ in start.turns[len(start.answers) :])]
    return {"turns": start.turns, "answers": answers, "calls": calls}


@router.post(f"{TRAJECTORY}/fix/try", response=FixTried)
@in_project(Action.ANNOTATE)
def try_fix(request: Any, dataset: Number, example: str, body: FixedConversation) -> Any:
    """Run the edited conversation in a new world; nothing is stored."""
    found = one_trajectory(request.project, dataset, example)
    made = get_example(found)
    try:
        tried = run(found, made, build_edits(made, body), request.user)
    except Rejected as why:
        raise build_rejection_error(why, found) from None
    before = verdict(tried.before) if tried.before else None
    return {"results": tried.texts, "held": verdict(tried.held), "before": before, "same": tried.same}


@router.post(f"{TRAJECTORY}/fix", response={201: TrajectoryRow})
@in_project(Action.ANNOTATE)
def fix_trajectory(request: Any, dataset: Number, example: str, body: FixedConversation) -> Any:
    """Save the edited conversation in the manual dataset, after it validates in a new world."""
    found = one_trajectory(request.project, dataset, example)
    made = get_example(found)
    edits = build_edits(made, body)
    try:
        saved = add_manual_example(request.project, request.user, lambda id: apply_edits(id, made, edits), found)
    except Rejected as why:
        raise build_rejection_error(why, found) from None
    return with_project(saved, request.project)


@router.get(f"{IN_PROJECT}/corrections", response=Piece[Correction])
@in_project(Action.VIEW)
def list_corrections(request: Any, cursor: Cursor = "", limit: Limit = 50) -> Any:
    """List the edited trajectories, newest first, excluding those that depend on your pending blind reviews."""
    blind = Blind(request.user, request.project)
    rows = Trajectory.objects.filter_by_project(request.project).filter(
        parent__dataset__deleted_at=None, parent__isnull=False
    )
    rows = rows.filter(origin__has_key="edited").select_related("dataset", "parent__dataset")
    rows = blind.exclude_hidden(blind.exclude_hidden(rows), "parent")
    page = by_key(rows.defer("record", "rollout", "parent__record", "parent__rollout"), "pk", cursor, limit)
    return page | {"items": [with_project(row, request.project) for row in page["items"]]}


def get_example(found: Trajectory) -> Example:
    """Raises Refused."""
    try:
        return mendable(found)
    except NotMendable as why:
        raise ApiError(409, str(why), "example", "Choose another trajectory.") from None


def build_edits(example: Example, body: FixedConversation) -> EditedConversation:
    """Convert the body to what the page's form sends, so that the same code validates it. Raises Refused."""
    size = len(example.turns)
    if (len(body.turns), len(body.answers)) != (size, size):
        do = f"Send {size} turns and {size} answers."
        raise ApiError(422, "The number of turns has changed.", "body.turns", do)
    if late := [place for place, call in enumerate(body.calls) if call.turn > size]:
        raise ApiError(422, f"The conversation has {size} turns.", f"body.calls.{late[0]}.turn", "Choose one of them.")
    rows = sorted((row(key, call) for key, call in enumerate(body.calls, 1)), key=lambda one: one.turn)
    draft = validate_draft(Draft(tuple(body.turns), tuple(body.answers), tuple(rows)))
    if wrong := min((one for one in draft.rows if one.fault), key=lambda one: one.key, default=None):
        raise ApiError(422, wrong.fault, f"body.calls.{wrong.key - 1}.arguments", "Change these arguments.")
    return wanted_of(draft, len(example.steps))


def row(key: int, call: FixedCall) -> Row:
    text = json.dumps(call.arguments, ensure_ascii=False)
    plain = Row(key, call.turn - 1, call.tool.strip(), text, call.was, call.joined)
    return plain.replace_arguments(as_json(text))


def build_rejection_error(why: Rejected, found: Trajectory) -> ApiError:
    return ApiError(422, explain_rejection(why, found), "body", "Fix the calls that fail, and test the edit first.")


def verdict(one: Judged) -> dict[str, Any]:
    return {"reward": json.loads(dumps(one.reward)) if one.reward else None, "problem": one.problem}
