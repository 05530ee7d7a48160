"""Tokens by which MCP clients come into a live session."""

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
from prove_web.servers.session_page import gone
from prove_web.servers.views.sessions import of
from prove_web.servers.world_cache import ServerGone

from ..errors import Refused
from ..models import ApiToken
from ..paging import Key
from ..permissions import in_project
from ..schemas import Strict, username
from .sessions import SESSION, not_rebuilt

router = Router(tags=["Sessions"])
TOKENS = SESSION + "/tokens"


class TokenOut(Schema):
    """What lets a client in; its text is told once, when it is made."""

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


class ConnectMake(Strict):
    name: str = Field(max_length=500, description="To know whose calls are whose.")
    writes: bool = Field(False, description="Whether the client may call tools that write.")


class ConnectTokenCreated(Schema):
    """`address` is where the client connects, with the token in it. It is told this once."""

    token: str
    address: str


@router.get(TOKENS, response=list[TokenOut])
@in_project(Action.VIEW)
def list_session_tokens(request: Any, session: Key) -> Any:
    """The tokens of a session that let clients in, and those that were revoked."""
    return of(request, session).tokens.select_related("made_by")[:200]


@router.post(TOKENS, response={201: ConnectTokenCreated})
@in_project(Action.ANNOTATE)
def make_session_token(request: Any, session: Key, body: ConnectMake) -> Any:
    """Let an MCP client into a session. What a program makes with an API token ends with that token."""
    target = of(request, session)
    if gone(target):
        raise not_rebuilt(ServerGone(", ".join(target.servers)))
    made_with = request.auth if isinstance(request.auth, ApiToken) else None
    try:
        text = tokens.create_token(target, request.user, body.name, body.writes, made_with)
    except tokens.NotIssued as why:
        raise Refused(422, str(why), "body.name", "Change it and send the request again.") from None
    return {"token": text, "address": request.build_absolute_uri(f"{PREFIX}/{text}/")}


@router.delete(f"{TOKENS}/{{int:token}}", response=TokenOut)
@in_project(Action.ANNOTATE)
def revoke_session_token(request: Any, session: Key, token: Key) -> Any:
    """Let nobody in by a token any more: one's own; those of others take a role that launches."""
    found: ConnectToken = get_object_or_404(of(request, session).tokens.select_related("made_by"), pk=token)
    if found.made_by_id != request.user.pk and not request.role.covers(Action.LAUNCH):
        told = "Someone else made this token; to revoke it takes the role Maintainer or higher."
        raise Refused(403, told, request.path, "Ask a maintainer.")
    tokens.revoke(found)
    found.refresh_from_db()
    return found
