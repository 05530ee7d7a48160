"""Parser of API input: JSON that a database can store, with limited nesting."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from .errors import ApiError, not_json

DEEPEST = 40  # levels of lists and objects in a body
NUL = "\0"
MOST = sys.float_info.max


class StrictJsonParser(Parser):
    """Parser that rejects invalid JSON, NaN, infinity, and NUL characters, which PostgreSQL does not store."""

    def parse_body(self, request: HttpRequest) -> Any:
        if request.content_type != "application/json":
            raise not_json()
        try:
            data = json.loads(request.body, parse_constant=refuse)
        except (ValueError, RecursionError):
            raise ApiError(400, "The body is not valid JSON.", "body", "Check quotes and commas; use UTF-8.") from None
        require_storable_values(data, "body")
        return data

    def parse_querydict(self, data: Any, list_fields: list[str], request: HttpRequest) -> Any:
        for name in data:
            for value in (name, *data.getlist(name)):
                if NUL in value:
                    raise ApiError(422, "Contains a NUL character.", f"query.{name}".replace(NUL, ""), "Remove it.")
        return super().parse_querydict(data, list_fields, request)


def refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def require_storable_values(data: Any, where: str, depth: int = 0) -> None:
    """Raise Refused for too deep nesting, or for a character or number that no database stores."""
    if depth > DEEPEST:
        raise ApiError(422, f"Nested deeper than {DEEPEST} levels.", where[:80], "Send flatter data.")
    if isinstance(data, str) and (NUL in data or any("\ud800" <= each <= "\udfff" for each in data)):
        raise ApiError(422, "Contains an invalid character.", where[:80], "Remove it.")
    if isinstance(data, int | float) and not -MOST <= data <= MOST:
        raise ApiError(422, "The number is too large.", where[:80], "Send a smaller one.")
    if isinstance(data, dict):
        for name, value in data.items():
            require_storable_values(name, where, depth + 1)
            require_storable_values(value, f"{where}.{name}", depth + 1)
    elif isinstance(data, list):
        for place, value in enumerate(data):
            require_storable_values(value, f"{where}.{place}", depth + 1)
