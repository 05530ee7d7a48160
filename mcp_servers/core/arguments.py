"""Validation of tool arguments: untrusted JSON within limits, and every fault of a call in our own wording."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic_core import ErrorDetails, from_json, to_json

from .errors import ToolError

MAX_BYTES = 100_000
MAX_TEXT = 10_000
MAX_INTEGER = 10**15
MAX_DEPTH = 16

PROBLEMS = {
    "missing": "is required",
    "extra_forbidden": "is not a parameter of this tool",
    "unexpected_keyword_argument": "is not a parameter of this tool",
    "string_type": "must be a string",
    "int_type": "must be an integer",
    "int_from_float": "must be an integer",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "tuple_type": "must be an array",
    "list_type": "must be an array",
    "dict_type": "must be an object",
    "dataclass_type": "must be an object",
    "dataclass_exact_type": "must be an object",
    "literal_error": "must be one of {expected}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "greater_than": "must be more than {gt}",
    "less_than": "must be less than {lt}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "too_short": "must have at least {min_length} items",
    "too_long": "must have at most {max_length} items",
    "value_error": "{error}",
}


def canonical(arguments: str | dict[str, Any]) -> str:
    """Return the arguments as canonical JSON: sorted keys, no spaces, whole floats as integers.

    Raises ToolError for input that no tool should see: not JSON, not an object, NaN, too deep, too long, too large.
    """
    if arguments in ("{}", {}):
        return "{}"
    if isinstance(arguments, str) and len(arguments) > MAX_BYTES:
        raise ToolError("arguments_too_large", f"The arguments have over {MAX_BYTES:,} characters; send less.")
    try:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, allow_nan=False)
        value = clean(from_json(text, allow_inf_nan=False, cache_strings=False))
        data = to_json(value)
    except (ValueError, TypeError, RecursionError):
        raise ToolError("invalid_json", "The arguments must be one JSON object of plain, finite values.") from None
    if not isinstance(value, dict):
        raise ToolError("invalid_json", "The arguments must be a JSON object, such as {}.")
    if len(data) > MAX_BYTES:
        raise ToolError("arguments_too_large", f"The arguments have over {MAX_BYTES:,} bytes; send less.")
    return data.decode()


def clean(value: Any, depth: int = 0) -> Any:
    """Return a value with sorted keys and whole floats as integers, because JSON does not distinguish 3 from 3.0.

    Raises ToolError for a value that is nested too deep, too long or too large.
    """
    kind = type(value)
    if kind is str:
        if len(value) > MAX_TEXT:
            raise ToolError("arguments_too_large", f"A text has over {MAX_TEXT:,} characters; shorten it.")
    elif kind is dict or kind is list:
        if depth > MAX_DEPTH:
            raise ToolError(
                "arguments_too_deep", f"The arguments are nested over {MAX_DEPTH} levels deep; flatten them."
            )
        if kind is list:
            return [clean(part, depth + 1) for part in value]
        cleaned = {}
        for key in sorted(value):
            part = value[key]
            short = type(part) is str and len(part) <= MAX_TEXT
            cleaned[clean(key) if len(key) > MAX_TEXT else key] = part if short else clean(part, depth + 1)
        return cleaned
    elif kind is float:
        if abs(value) == float("inf"):
            raise ValueError("out of range")
        return int(value) if value.is_integer() and abs(value) <= MAX_INTEGER else value
    elif kind is int and abs(value) > MAX_INTEGER:
        raise ToolError("arguments_too_large", f"A number is beyond {MAX_INTEGER:,}; send a smaller one.")
    return value


def faults(errors: list[ErrorDetails]) -> list[dict[str, str]]:
    """Return every fault once: where it is, and what must hold there."""
    found: dict[str, str] = {}
    for error in errors:
        parameter, *inner = error["loc"] or ("arguments",)
        path = ".".join(map(str, [parameter, *(part for part in inner if not is_branch(part))])) or "arguments"
        context = dict(error.get("ctx", {}))
        if error["type"] == "literal_error":
            context["expected"] = ", ".join(re.findall(r"'([^']*)'", context["expected"]))
        text = PROBLEMS.get(error["type"], "has a value that is not accepted").format(**context)
        if path not in found:
            found[path] = text
        elif text not in found[path]:
            found[path] += f" or {text}"
    return [{"parameter": path, "problem": text} for path, text in found.items()]


def is_branch(part: object) -> bool:
    """Return whether a part of an error's location names a branch of a union, not a place in the arguments."""
    return isinstance(part, str) and (part in ("str", "int", "float", "bool", "none") or "[" in part)
