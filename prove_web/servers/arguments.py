"""Form of a call: fields, or JSON. Input survives errors and a switch of mode."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_servers.core import Tool, ToolError
from mcp_servers.core.arguments import canonical

from .form_codec import GIVEN, IS, NULL, PICKED, ROWS, as_typed, join_path, read, rows_of, with_row, without_row
from .parameters import Parameter, parameters

PREFIX, IS_PREFIX, ROWS_PREFIX = "arg-", "is-", "rows-"
FORM, JSON = "form", "json"
ZERO_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
NATIVE = {"date": r"\d{4}-\d\d-\d\d", "date-time": PICKED.pattern}


@dataclass
class CallForm:
    """Input for a call of one tool, with its errors: by path, or `error` for the whole.

    `note` is other information, such as the origin of an example. With a `prefix` in the field names, a page can have
    several forms.
    """

    tool: Tool
    mode: str = FORM
    values: Mapping[str, str] = field(default_factory=dict)
    raw: str = "{}"
    errors: dict[str, str] = field(default_factory=dict)
    error: str = ""
    note: str = ""
    asks: bool = False  # whether to ask for confirmation of a destructive call
    example: int = 0  # number of examples shown so far
    prefix: str = ""

    @classmethod
    def from_arguments(cls, tool: Tool, arguments: dict[str, Any], mode: str = FORM, prefix: str = "") -> CallForm:
        """Return the form with these arguments; in JSON mode if fields can't represent them."""
        values = as_typed(parameters(tool), arguments)
        raw = json.dumps(arguments, indent=2, ensure_ascii=False)
        if not is_same_json(read(parameters(tool), values)[0], arguments):
            mode = JSON
        return cls(tool, mode, values, raw, prefix=prefix)

    @classmethod
    def from_post(cls, tool: Tool, data: Mapping[str, str], prefix: str = "") -> CallForm:
        values = {
            key.removeprefix(begins + prefix) + suffix: data.get(key, "")
            for begins, suffix in ((PREFIX, ""), (IS_PREFIX, IS), (ROWS_PREFIX, ROWS))
            for key in data
            if key.startswith(begins + prefix)
        }
        example = data.get("examples", "")
        number = int(example) if example.isascii() and example.isdigit() and len(example) < 6 else 0
        mode = JSON if data.get("mode") == JSON else FORM
        return cls(tool, mode, values, data.get("raw", "{}"), example=number, prefix=prefix)

    def arguments(self) -> dict[str, Any] | None:
        """Return the arguments, or None with the errors set: only input that no tool may receive is rejected here."""
        if self.mode == FORM:
            given, self.errors = read(parameters(self.tool), self.values)
            if self.errors:
                return None
            return self.validate_input(given)
        return self.validate_input(self.raw)

    def validate_input(self, given: str | dict[str, Any]) -> dict[str, Any] | None:
        try:
            return validate_arguments(given)
        except ToolError as refused:
            self.error = str(refused)
            return None

    def switch_mode(self) -> CallForm:
        """Return the same arguments in the other mode; the form itself, with the error set, if they can't be parsed."""
        arguments = self.arguments()
        if arguments is None:
            return self
        other = CallForm.from_arguments(self.tool, arguments, JSON if self.mode == FORM else FORM, self.prefix)
        if other.mode == self.mode:
            other.error = "These arguments do not fit the fields of the form; they can only be edited as JSON."
        return other

    def apply_row_change(self, data: Mapping[str, str]) -> CallForm:
        """Return the form with a list row added or removed, as the pressed button requests."""
        if path := data.get("add", ""):
            self.values = with_row(self.values, path)
        elif path := data.get("remove", ""):
            self.values = without_row(self.values, path)
        return self

    def fields(self) -> list[dict[str, Any]]:
        """Return each parameter for the page with its field's name, value and error, and its nested fields."""
        return [self.field(each, join_path("", each.name)) for each in parameters(self.tool)]

    def field(self, one: Parameter, path: str, row: int | None = None) -> dict[str, Any]:
        value, state = self.values.get(path, ""), self.values.get(path + IS, "")
        context: dict[str, Any] = {
            "parameter": one,
            "path": self.prefix + path,
            "name": PREFIX + self.prefix + path,
            "is_name": IS_PREFIX + self.prefix + path,
            "rows_name": ROWS_PREFIX + self.prefix + path,
            "label": one.name or f"Item {(row or 0) + 1}",
            "value": value,
            "state": state,
            "null": state == NULL and one.nullable,
            "error": self.errors.get(path, ""),
            "row": row,
            "must": one.required or row is not None,
            "input": input_type(one, value),
        }
        if one.kind == "array" and one.item:
            count = rows_of(self.values, path)
            context["rows"] = [self.field(one.item, join_path(path, at), at) for at in range(count)]
        if one.kind in ("array", "object"):
            context["given"] = context["must"] or state == GIVEN
        if one.kind == "object":
            context["inside"] = [self.field(part, join_path(path, part.name)) for part in one.parts]
        return context


def validate_arguments(given: str | dict[str, Any]) -> dict[str, Any]:
    """Return arguments that a session can store. Raises ToolError for input that no tool may receive."""
    text = canonical(given)
    if ZERO_BYTE.search(text):
        raise ToolError("zero_byte", "The arguments contain a zero byte (\\u0000), which cannot be stored; remove it.")
    return dict(json.loads(text))


def input_type(one: Parameter, value: str) -> str:
    """Return the browser's picker for dates and times, unless the input is invalid: a picker would not show that."""
    pattern = NATIVE.get(one.format)
    if pattern is None or (value and not re.fullmatch(pattern, value, re.ASCII)):
        return "text"
    return "date" if one.format == "date" else "datetime-local"


def is_same_json(one: Any, other: Any) -> bool:
    """Return whether two values are the same JSON: True is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
