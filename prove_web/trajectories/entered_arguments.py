"""Arguments of a tool call as entered: a JSON object that a world, a page and a database can take."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

LONGEST = 20_000  # characters
DEEPEST = 50  # nesting of lists and objects
NO_TEXT = re.compile("[\0\ud800-\udfff]")  # characters that no database or page takes as text


class NotArguments(Exception):
    """Error of a text that is not a valid arguments object; the message says why."""


def arguments_of(typed: str) -> dict[str, Any]:
    """Parse arguments. Raises NotArguments."""
    if len(typed) > LONGEST:
        raise NotArguments(f"The arguments have {len(typed):,} characters; the limit is {LONGEST:,}.")
    try:
        given = json.loads(typed or "{}", parse_constant=reject_constant, parse_float=finite)
    except (ValueError, RecursionError) as error:
        where = f", line {error.lineno}, character {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise NotArguments(f"The arguments are not valid JSON{where}. Enter an object, such as {{}}.") from None
    if not isinstance(given, dict):
        raise NotArguments('The arguments must be an object of names and values, such as {"id": "…"}.')
    layers = list(iter_layers(given))
    if len(layers) > DEEPEST:
        raise NotArguments(f"The arguments are nested more than {DEEPEST} levels deep.")
    if any(isinstance(one, str) and NO_TEXT.search(one) for layer in layers for one in layer):
        raise NotArguments("A text in the arguments has an invalid character, such as \\u0000. Remove it.")
    return given


def reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"{digits} is too large")
    return number


def iter_layers(value: Any) -> Iterator[list[Any]]:
    """Yield all parts of a value, level by level, because parsed JSON may be nested too deep for recursion."""
    layer = [value]
    while layer:
        yield layer
        inner = [one for one in layer if isinstance(one, dict | list)]
        layer = [part for one in inner for part in ([*one, *one.values()] if isinstance(one, dict) else one)]
