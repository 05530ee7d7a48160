"""Pages over ASGI: each is rendered in a single thread of a pool that keeps its database connections.

Django's own handler passes a request between threads for each middleware, and opens a connection for each request: on
two cores with twenty users, that takes longer than the pages themselves. Ours are synchronous throughout, so one
hand-over is enough.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.base import BaseHandler
from django.core.handlers.exception import convert_exception_to_response
from django.db import close_old_connections
from django.http import Http404, HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.middleware.security import SecurityMiddleware
from servestatic.middleware import ServeStaticMiddleware

from .streaming import stream_in_thread

THREADS = 16  # for pages that wait for a third-party server, or for a world to be built


class Pages(ASGIHandler):
    """ASGI application of all pages; `Files` serves static files."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)
        self.threads = ThreadPoolExecutor(THREADS, "page")
        self.files = Files()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"].startswith(settings.STATIC_URL):
            await self.files(scope, receive, send)
        else:
            await self.handle(scope, receive, send)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        here = asyncio.get_running_loop()
        return await here.run_in_executor(self.threads, copy_context().run, self.respond, request)

    def respond(self, request: HttpRequest) -> HttpResponseBase:
        close_old_connections()
        try:
            response = self.get_response(request)
            if isinstance(response, StreamingHttpResponse):
                stream_in_thread(response)
            return response
        finally:
            close_old_connections()


class Files(ASGIHandler):
    """ASGI application of static files, which are sent without a thread."""

    def load_middleware(self, is_async: bool = False) -> None:
        self._middleware_chain = SecurityMiddleware(
            ServeStaticMiddleware(convert_exception_to_response(self.raise_not_found))
        )

    async def raise_not_found(self, request: HttpRequest) -> HttpResponseBase:
        raise Http404
