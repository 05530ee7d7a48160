"""API operations for saved rewards; a launch takes one as `"reward_preset": "saved-4"`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.experiments.defaults import REWARD
from prove_web.experiments.models import SavedReward
from prove_web.experiments.saved_rewards import key, save
from prove_web.experiments.what_if.params import validate_reward_limits
from training_worker.reward import BadReward, read_reward

from ..errors import ApiError
from ..paging import Cursor, Key, Limit, Piece, by_key
from ..permissions import in_project
from ..schemas import StrictSchema, username

router = Router(tags=["Rewards"])
REWARDS = "/{slug:organisation}/{slug:project}/rewards"


class RewardOut(Schema):
    """`key` identifies the reward in launches and reward replay; `config` has all of its weights."""

    id: int
    key: str
    name: str
    config: dict[str, Any]
    by: str | None
    made_at: datetime

    @staticmethod
    def resolve_key(reward: SavedReward) -> str:
        return key(reward)

    @staticmethod
    def resolve_config(reward: SavedReward) -> dict[str, Any]:
        return {**REWARD, **reward.config}

    @staticmethod
    def resolve_by(reward: SavedReward) -> str | None:
        return username(reward.made_by)


class RewardIn(StrictSchema):
    name: str = Field(max_length=500)
    config: dict[str, Any] = Field(
        max_length=40, description="The weights that differ from the paper's, named as in `config` of `GET /what-if`."
    )


class RewardRemoved(Schema):
    removed: int


@router.get(REWARDS, response=Piece[RewardOut])
@in_project(Action.VIEW)
def list_rewards(request: Any, cursor: Cursor = "", limit: Limit = 50) -> Any:
    """List the project's saved rewards, newest first."""
    return by_key(request.project.rewards.select_related("made_by"), "pk", cursor, limit)


@router.post(REWARDS, response={201: RewardOut})
@in_project(Action.LAUNCH)
def save_reward(request: Any, body: RewardIn) -> Any:
    """Save a reward under a name; the launch form then offers it."""
    try:
        config = validate_reward_limits(read_reward(body.config))
    except BadReward as why:
        raise ApiError(422, str(why), "body.config", "Change this weight.") from None
    try:
        return save(request.project, request.user, body.name, config)
    except BadReward as why:
        raise ApiError(422, str(why), "body.name", "Choose another name or other weights.") from None


@router.delete(f"{REWARDS}/{{int:reward}}", response=RewardRemoved)
@in_project(Action.LAUNCH)
def remove_reward(request: Any, reward: Key) -> Any:
    """Remove a saved reward; runs scored by it keep their weights."""
    get_object_or_404(SavedReward, project=request.project, pk=reward).delete()
    return {"removed": reward}
