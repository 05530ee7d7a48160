"""Limit of the request body: rejected by its announced length, or as soon as more has arrived."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
MOST = 8 << 20  # bytes of a request: file chunks are smaller
HEARD_OUT = 32 << 20  # bytes; a larger announced body is cut off
MESSAGE = f"The request exceeds the limit of {MOST:,} bytes. Upload files from the page, which sends them in parts."


class BodyLimitMiddleware:
    """Middleware in front of pages, which would otherwise store the whole body on disk before their code runs."""

    def __init__(self, pages: Any):
        self.pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.pages(scope, receive, send)
            return
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > MOST:
            if int(announced) <= HEARD_OUT:
                await hear_out(receive)
            await refuse(send)
            return
        read = 0

        async def receive_within_limit() -> MutableMapping[str, Any]:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            return message if read <= MOST else {"type": "http.disconnect"}

        await self.pages(scope, receive_within_limit, send)


async def hear_out(receive: Receive) -> None:
    """Read and discard the rest: a client that is cut off while sending does not read the response."""
    while (await receive()).get("more_body"):
        pass


async def refuse(send: Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": MESSAGE.encode()})
