"""API operations for the tokens of MCP clients for a live session."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.servers import tokens
from prove_web.servers.client_snippets import PREFIX
from prove_web.servers.models import ConnectToken
from prove_web.servers.session_page import has_missing_server
from prove_web.servers.views.sessions import get_session_or_404
from prove_web.servers.world_cache import ServerGone

from ..errors import ApiError
from ..models import ApiToken
from ..paging import Key
from ..permissions import in_project
from ..schemas import StrictSchema, username
from .sessions import SESSION, not_rebuilt

router = Router(tags=["Sessions"])
TOKENS = SESSION + "/tokens"


class TokenOut(Schema):
    """A token for an MCP client; its text is only returned on creation."""

    id: int
    name: str
    writes: bool
    by: str | None
    made_at: datetime
    used_at: datetime | None
    revoked_at: datetime | None

    @staticmethod
    def resolve_by(token: ConnectToken) -> str | None:
        return username(token.made_by)


class ConnectMake(StrictSchema):
    name: str = Field(max_length=500, description="Identifies the client's calls.")
    writes: bool = Field(False, description="Whether the client may call tools that write.")


class ConnectTokenCreated(Schema):
    """`address` is the URL for the client and contains the token. It is only returned once."""

    token: str
    address: str


@router.get(TOKENS, response=list[TokenOut])
@in_project(Action.VIEW)
def list_session_tokens(request: Any, session: Key) -> Any:
    """List the tokens of a session, including revoked ones."""
    return get_session_or_404(request, session).tokens.select_related("made_by")[:200]


@router.post(TOKENS, response={201: ConnectTokenCreated})
@in_project(Action.ANNOTATE)
def make_session_token(request: Any, session: Key, body: ConnectMake) -> Any:
    """Create a token for an MCP client. A token created with an API token expires with it."""
    target = get_session_or_404(request, session)
    if has_missing_server(target):
        raise not_rebuilt(ServerGone(", ".join(target.servers)))
    made_with = request.auth if isinstance(request.auth, ApiToken) else None
    try:
        text = tokens.create_token(target, request.user, body.name, body.writes, made_with)
    except tokens.NotIssued as why:
        raise ApiError(422, str(why), "body.name", "Change it and send the request again.") from None
    return {"token": text, "address": request.build_absolute_uri(f"{PREFIX}/{text}/")}


@router.delete(f"{TOKENS}/{{int:token}}", response=TokenOut)
@in_project(Action.ANNOTATE)
def revoke_session_token(request: Any, session: Key, token: Key) -> Any:
    """Revoke a token. Tokens of other members require the Maintainer role."""
    found: ConnectToken = get_object_or_404(
        get_session_or_404(request, session).tokens.select_related("made_by"), pk=token
    )
    if found.made_by_id != request.user.pk and not request.role.covers(Action.LAUNCH):
        text = "Revoking another member's token requires the Maintainer role."
        raise ApiError(403, text, request.path, "Ask a maintainer.")
    tokens.revoke(found)
    found.refresh_from_db()
    return found
