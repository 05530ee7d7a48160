"""Calls as Python that BFCL evaluates: a name that the entry documents, plain identifiers, and literals."""

import keyword
import math
from typing import Any

Json = Any
Call = tuple[str, dict[str, Json]]

NOTHING = "no_such_function()"  # BFCL's error for it counts as a call that failed


def format_python_call(call: Call, names: set[str]) -> str:
    """Return a call as Python with literals only; NOTHING for a call that must not run."""
    name, arguments = call
    if (
        name in names
        and is_plain_identifier(name)
        and all(is_plain_identifier(key) for key in arguments)
        and finite(arguments)
    ):
        return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
    return NOTHING


def is_plain_identifier(name: str) -> bool:
    return name.isidentifier() and name.isascii() and not keyword.iskeyword(name) and not name.startswith("_")


def finite(value: Json) -> bool:
    """Return whether all numbers of a JSON value have a literal."""
    if isinstance(value, dict):
        return all(finite(part) for part in value.values())
    if isinstance(value, list):
        return all(finite(part) for part in value)
    return not isinstance(value, float) or math.isfinite(value)


def refusal(call: Call) -> str:
    return f"Error during execution: {call[0][:100]!r} is no function that can be called so"
