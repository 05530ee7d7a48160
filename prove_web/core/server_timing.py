"""Server-Timing header with the response time of every request, which browsers' developer tools show.

https://www.w3.org/TR/server-timing/; `dur` is in milliseconds, from the arrival of the request to the head of the
response.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


class ServerTiming:
    """ASGI application that times another one."""

    def __init__(self, app: App):
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        began = time.perf_counter()

        async def send_with_timing(message: Message) -> None:
            if message["type"] == "http.response.start":
                took = f"app;dur={1000 * (time.perf_counter() - began):.1f}".encode()
                message = {**message, "headers": [*message.get("headers", ()), (b"server-timing", took)]}
            await send(message)

        await self.app(scope, receive, send_with_timing)
