"""Responses of any length as JSON lines, sent while they are created."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.http import StreamingHttpResponse

JSON_LINES = "application/x-ndjson"


def stream_json_lines(rows: Iterable[Any], name: str) -> StreamingHttpResponse:
    """Return one JSON value per line; the rows are read while they are sent."""
    return streaming((f"{json.dumps(row, ensure_ascii=False, default=str)}\n".encode() for row in rows), name)


def streaming(pieces: Iterator[bytes], name: str, type: str = JSON_LINES) -> StreamingHttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return StreamingHttpResponse(pieces, content_type=type, headers=headers)
