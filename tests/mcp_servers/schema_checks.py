"""Checks of tools against their own schemas, formats included, as strict clients make them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from mcp_servers.core import Session, Tool
from mcp_servers.mcp.adapter import describe

KNOWN = {
    *("$ref", "$defs", "anyOf", "enum", "const", "type", "format", "description", "default", "examples"),
    *("properties", "required", "additionalProperties", "items", "minItems", "maxItems"),
    *("minimum", "maximum", "minLength", "maxLength", "pattern"),
}
LONGEST, MOST = 40, 3  # characters of a text and items of a list where the schema sets no limit
SOON = datetime(2026, 1, 1), datetime(2027, 12, 31)
EVER = datetime(1, 1, 2), datetime(9999, 12, 30)  # a day less at each end, so that every offset leaves a year of UTC
MINUTES = 24 * 60 - 1
CHARACTERS = st.sampled_from("abcxyzABCXYZ0189 -_.\n") | st.characters(codec="utf-8")
DRAWS = 10  # for each tool
MALFORMED = {"invalid_arguments", "invalid_json", "arguments_too_large", "arguments_too_deep"}


def results_fit_their_schemas(session: Session[Any]) -> set[str]:
    """Check every result in a session against the schema that clients get. Return the tools that gave a result."""
    fitted = set()
    for step in session.history()[1:]:
        if step.reply is not None and step.reply.ok:
            fault = best_match(
                result_validator(session.server.tools[step.tool]).iter_errors({"result": step.reply.data})
            )
            assert fault is None, f"step {step.number}, {step.tool}: {fault.json_path}: {fault.message}"
            fitted.add(step.tool)
    return fitted


@cache
def result_validator(tool: Tool) -> Draft202012Validator:
    return validator(describe(tool).output_schema)


def arguments_are_taken(session: Session[Any], tool: Tool) -> None:
    """Call a tool with arguments drawn from its schema alone: no refusal may say that they are malformed."""
    check = validator(tool.input_schema)

    @settings(max_examples=DRAWS, derandomize=True, database=None, deadline=None)
    @given(values(tool.input_schema))
    def take(arguments: dict[str, Any]) -> None:
        check.validate(arguments)
        fork = session.fork()
        reply = fork.call(tool.name, arguments)
        assert reply.ok or reply.data["error"] not in MALFORMED, reply.text
        results_fit_their_schemas(fork)

    take()


def validator(schema: dict[str, Any]) -> Draft202012Validator:
    """A validator that checks formats, too."""
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


def values(schema: dict[str, Any], definitions: dict[str, Any] | None = None) -> st.SearchStrategy[Any]:
    """Every kind of value that fits a schema. Raises ValueError for a keyword that this module does not know."""
    definitions = schema.get("$defs", {}) if definitions is None else definitions
    if unknown := schema.keys() - KNOWN:
        raise ValueError(f"No values can be drawn for {', '.join(sorted(unknown))}.")
    match schema:
        case {"$ref": str(name)}:
            return values(definitions[name.removeprefix("#/$defs/")], definitions)
        case {"anyOf": list(branches)}:
            return st.one_of(values(branch, definitions) for branch in branches)
        case {"enum": list(options)}:
            return st.sampled_from(options)
        case {"const": constant}:
            return st.just(constant)
        case {"type": "array", "items": dict(items)}:
            low = schema.get("minItems", 0)
            return st.lists(values(items, definitions), min_size=low, max_size=schema.get("maxItems", low + MOST))
        case {"type": "object", "properties": dict(properties)}:
            drawn = {name: values(part, definitions) for name, part in properties.items()}
            required = {name: drawn.pop(name) for name in schema.get("required", ())}
            return st.fixed_dictionaries(required, optional=drawn)
        case {"type": "null"}:
            return st.none()
        case {"type": "boolean"}:
            return st.booleans()
        case {"type": "integer"}:
            numbers = st.integers(schema.get("minimum"), schema.get("maximum"))
            return numbers | numbers.filter(lambda number: abs(number) < 2**53).map(float)
        case {"format": "date-time"}:
            return date_times()
        case {"format": "date"}:
            return (st.dates(SOON[0].date(), SOON[1].date()) | st.dates()).map(date.isoformat)
        case {"type": "string"} if "format" not in schema:
            return texts(schema)
    raise ValueError(f"No values can be drawn for {schema}.")


def date_times() -> st.SearchStrategy[str]:
    """RFC 3339 date-times: any offset, either case, with and without fractions of a second."""
    offsets = st.integers(-MINUTES, MINUTES).map(lambda minutes: timezone(timedelta(minutes=minutes)))
    zones = st.just(UTC) | offsets
    written = (st.datetimes(*SOON, timezones=zones) | st.datetimes(*EVER, timezones=zones)).map(datetime.isoformat)
    return written | written.map(lambda text: text.replace("+00:00", "Z")) | written.map(str.lower)


def texts(schema: dict[str, Any]) -> st.SearchStrategy[str]:
    """Texts of the lengths that a schema allows, up to the longest; those that match its pattern, if it has one."""
    low, high = schema.get("minLength", 0), schema.get("maxLength", LONGEST)
    pattern = schema.get("pattern", "")
    if pattern.startswith("^"):  # `$` ends a text in JSON Schema; in Python it may stand before a last line break
        matching = st.from_regex(pattern.removesuffix("$") + r"\Z" if pattern.endswith("$") else pattern)
        return matching.filter(lambda text: low <= len(text) <= high)
    drawn = st.text(CHARACTERS, min_size=low, max_size=min(high, max(low, LONGEST)))
    return (drawn | st.just("x" * high)).filter(lambda text: re.search(pattern, text) is not None)
