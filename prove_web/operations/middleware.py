"""Middleware for request ids, counters, durations and request logging."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

from prove_web.core import counters
from prove_web.core.request_context import HEADER, REQUEST, request_id

log = logging.getLogger("prove_web.requests")


@sync_and_async_middleware
def observe_requests(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Observe requests as the outermost middleware, so that requests refused by others are counted too."""
    if iscoroutinefunction(get_response):

        async def handle_request_async(request: HttpRequest) -> HttpResponse:
            begun = begin(request)
            try:
                return end(request, await get_response(request), begun)
            finally:
                REQUEST.set(None)

        return handle_request_async

    def handle_request(request: HttpRequest) -> HttpResponse:
        begun = begin(request)
        try:
            return end(request, get_response(request), begun)
        finally:
            REQUEST.set(None)

    return handle_request


def begin(request: HttpRequest) -> float:
    request.request_id = request_id(request)
    REQUEST.set(request)
    return time.perf_counter()


def end(request: HttpRequest, response: HttpResponse, begun: float) -> HttpResponse:
    took = time.perf_counter() - begun
    response.headers[HEADER] = request.request_id
    counters.count_request(view_of(request), request.method or "", response.status_code, took)
    facts = {"method": request.method, "status": response.status_code, "ms": round(1000 * took, 1)}
    log.info("answered", extra=facts)
    return response


def view_of(request: HttpRequest) -> str:
    """Return the view's name; URLs without a page share one label."""
    return request.resolver_match.view_name if request.resolver_match else counters.ELSEWHERE
