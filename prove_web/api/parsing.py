"""Parser of API input: JSON that a database can store, with limited nesting."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from .errors import Refused, not_json

DEEPEST = 40  # levels of lists and objects in a body
NUL = "\0"
MOST = sys.float_info.max


class Careful(Parser):
    """Parser that rejects invalid JSON, NaN, infinity, and NUL characters, which PostgreSQL does not store."""

    def parse_body(self, request: HttpRequest) -> Any:
        if request.content_type != "application/json":
            raise not_json()
        try:
            told = json.loads(request.body, parse_constant=refuse)
        except (ValueError, RecursionError):
            raise Refused(400, "The body is not valid JSON.", "body", "Check quotes and commas; use UTF-8.") from None
        look(told, "body")
        return told

    def parse_querydict(self, data: Any, list_fields: list[str], request: HttpRequest) -> Any:
        for name in data:
            for value in (name, *data.getlist(name)):
                if NUL in value:
                    raise Refused(422, "Contains a NUL character.", f"query.{name}".replace(NUL, ""), "Remove it.")
        return super().parse_querydict(data, list_fields, request)


def refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def look(told: Any, where: str, depth: int = 0) -> None:
    """Raise Refused for too deep nesting, or for a character or number that no database stores."""
    if depth > DEEPEST:
        raise Refused(422, f"Nested deeper than {DEEPEST} levels.", where[:80], "Send flatter data.")
    if isinstance(told, str) and (NUL in told or any("\ud800" <= each <= "\udfff" for each in told)):
        raise Refused(422, "Contains an invalid character.", where[:80], "Remove it.")
    if isinstance(told, int | float) and not -MOST <= told <= MOST:
        raise Refused(422, "The number is too large.", where[:80], "Send a smaller one.")
    if isinstance(told, dict):
        for name, value in told.items():
            look(name, where, depth + 1)
            look(value, f"{where}.{name}", depth + 1)
    elif isinstance(told, list):
        for place, value in enumerate(told):
            look(value, f"{where}.{place}", depth + 1)
