"""Answers of any length as JSON lines, sent while they are made."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse

from prove_web.trajectories.exporting import gathered, sent

JSON_LINES = "application/x-ndjson"


def lines(request: HttpRequest, rows: Iterable[Any], name: str) -> StreamingHttpResponse:
    """One JSON value a line; the rows are read while they are sent."""
    return streaming(request, (f"{json.dumps(row, ensure_ascii=False, default=str)}\n".encode() for row in rows), name)


def streaming(
    request: HttpRequest, pieces: Iterator[bytes], name: str, type: str = JSON_LINES
) -> StreamingHttpResponse:
    held = gathered(pieces)
    body = sent(held) if isinstance(request, ASGIRequest) else held
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return StreamingHttpResponse(body, content_type=type, headers=headers)
