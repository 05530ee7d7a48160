"""Requests whose client hung up before all of the body had come: one line in the log instead of a traceback."""

from __future__ import annotations

import logging

from mcp.server.transport_security import RequestBodyLimitMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger(__name__)


def complete_requests(app: ASGIApp, most: int) -> ASGIApp:
    """The application for requests that came with their whole body, of at most so many bytes; a larger one gets 413."""

    async def unless_left(scope: Scope, receive: Receive, send: Send) -> None:
        first = await receive()  # the whole body: the middleware around this has read it
        if first["type"] != "http.request" or first.get("more_body"):
            log.info("A client hung up in the middle of its request.")
            return
        unread = [first]

        async def again() -> Message:
            return unread.pop() if unread else await receive()

        await app(scope, again, send)

    return RequestBodyLimitMiddleware(unless_left, most)
