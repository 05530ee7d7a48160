"""API operations for saved views: named searches of trajectories and tables of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import QueryDict
from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import Field

from prove_web.accounts import saved_views
from prove_web.accounts.models import SavedView
from prove_web.accounts.roles import Action
from prove_web.accounts.saved_views import SavedViewError
from prove_web.experiments.table.params import parse_params
from prove_web.trajectories.list_params import address

from ..errors import ApiError
from ..paging import Cursor, Key, Limit, Piece, by_place
from ..permissions import in_project
from ..schemas import StrictSchema, username

router = Router(tags=["Views"])
VIEWS = "/{slug:organisation}/{slug:project}/views"
VIEW = VIEWS + "/{int:view}"
Page = Literal["trajectories", "runs"]
ADDRESSES: dict[str, Callable[[Mapping[str, str]], str]] = {
    "trajectories": address,
    "runs": lambda query: parse_params(query).address,
}


class ViewOut(Schema):
    """`asks` are the list's query parameters, such as `q` and `sort`."""

    id: int
    page: str
    name: str
    asks: dict[str, str]
    by: str | None
    made_at: datetime

    @staticmethod
    def resolve_asks(view: SavedView) -> dict[str, str]:
        return QueryDict(view.query).dict()

    @staticmethod
    def resolve_by(view: SavedView) -> str | None:
        return username(view.made_by)


class ViewIn(StrictSchema):
    page: Page
    name: str = Field(max_length=500)
    asks: dict[str, Annotated[str, Field(max_length=2_000)]] = Field(
        {}, max_length=20, description="Query parameters: q and sort; for runs also group, archived and columns."
    )


class ViewName(StrictSchema):
    name: str = Field(max_length=500)


class ViewRemoved(Schema):
    removed: int


@router.get(VIEWS, response=Piece[ViewOut])
@in_project(Action.VIEW)
def list_views(request: Any, page: Page | None = None, cursor: Cursor = "", limit: Limit = 100) -> Any:
    """List the team's saved views."""
    rows = SavedView.objects.filter(project=request.project, page__in=[page] if page else [*ADDRESSES])
    return by_place(rows.select_related("made_by").order_by("page", "name"), cursor, limit)


@router.post(VIEWS, response={201: ViewOut})
@in_project(Action.ANNOTATE)
def keep_view(request: Any, body: ViewIn) -> Any:
    """Save a view under a name; an existing view of that name is replaced."""
    try:
        query = ADDRESSES[body.page](body.asks)
        return saved_views.store(request.project, request.user, body.page, body.name.strip(), query)
    except SavedViewError as why:
        raise ApiError(422, str(why), "body.name", "Choose another name.") from None


@router.post(f"{VIEW}/rename", response=ViewOut)
@in_project(Action.ANNOTATE)
def rename_view(request: Any, view: Key, body: ViewName) -> Any:
    """Rename a saved view."""
    found = get_view(request, view)
    try:
        saved_views.rename(found, body.name.strip())
    except SavedViewError as why:
        raise ApiError(422, str(why), "body.name", "Choose another name.") from None
    return found


@router.delete(VIEW, response=ViewRemoved)
@in_project(Action.ANNOTATE)
def remove_view(request: Any, view: Key) -> Any:
    """Delete a saved view."""
    get_view(request, view).delete()
    return {"removed": view}


def get_view(request: Any, view: int) -> SavedView:
    """Raises Http404."""
    found: SavedView = get_object_or_404(SavedView, pk=view, project=request.project, page__in=[*ADDRESSES])
    return found
