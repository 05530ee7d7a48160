"""Middleware for requests whose client disconnects before the body is complete: a log line instead of a traceback."""

from __future__ import annotations

import logging

from mcp.server.transport_security import RequestBodyLimitMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger(__name__)


def complete_requests(app: ASGIApp, most: int) -> ASGIApp:
    """Wrap an application so that it gets only requests with a complete body; one of over `most` bytes gets a 413."""

    async def unless_left(scope: Scope, receive: Receive, send: Send) -> None:
        first = await receive()  # the whole body, which the enclosing middleware has already read
        if first["type"] != "http.request" or first.get("more_body"):
            log.info("A client hung up in the middle of its request.")
            return
        unread = [first]

        async def receive_again() -> Message:
            return unread.pop() if unread else await receive()

        await app(scope, receive_again, send)

    return RequestBodyLimitMiddleware(unless_left, most)
