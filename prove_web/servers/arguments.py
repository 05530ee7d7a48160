"""The form of a call: one field a parameter, or the whole as JSON. What was typed survives a fault and a switch."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_servers.kit import Tool, ToolError
from mcp_servers.kit.arguments import canonical

from .parameters import Parameter, parameters

PREFIX = "arg-"
FORM, JSON = "form", "json"
INTEGER = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)
ZERO_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


@dataclass
class CallForm:
    """What is typed for a call of one tool, and what is wrong with it: by parameter, or `error` for the whole."""

    tool: Tool
    mode: str = FORM
    values: Mapping[str, str] = field(default_factory=dict)
    raw: str = "{}"
    errors: dict[str, str] = field(default_factory=dict)
    error: str = ""
    asks: bool = False  # whether to go on with a destructive call

    @classmethod
    def filled(cls, tool: Tool, arguments: dict[str, Any], mode: str = FORM) -> CallForm:
        """With these arguments; as JSON where fields could not say the same."""
        values = as_typed(parameters(tool), arguments)
        raw = json.dumps(arguments, indent=2, ensure_ascii=False)
        if read(parameters(tool), values) != (arguments, {}):
            mode = JSON
        return cls(tool, mode, values, raw)

    @classmethod
    def posted(cls, tool: Tool, data: Mapping[str, str]) -> CallForm:
        values = {each.name: data.get(PREFIX + each.name, "") for each in parameters(tool)}
        return cls(tool, JSON if data.get("mode") == JSON else FORM, values, data.get("raw", "{}"))

    def arguments(self) -> dict[str, Any] | None:
        """The arguments, or None with the errors set: only what no tool should see is refused here."""
        if self.mode == FORM:
            given, self.errors = read(parameters(self.tool), self.values)
            if self.errors:
                return None
            return self.checked(given)
        return self.checked(self.raw)

    def checked(self, given: str | dict[str, Any]) -> dict[str, Any] | None:
        try:
            text = canonical(given)
        except ToolError as refused:
            self.error = str(refused)
            return None
        if ZERO_BYTE.search(text):
            self.error = "The arguments hold a zero byte (\\u0000), which cannot be kept; leave it out."
            return None
        return dict(json.loads(text))

    def switched(self) -> CallForm:
        """The same arguments in the other mode; itself, with the error set, when they cannot be read."""
        arguments = self.arguments()
        if arguments is None:
            return self
        other = CallForm.filled(self.tool, arguments, JSON if self.mode == FORM else FORM)
        if other.mode == self.mode:
            other.error = "These arguments do not fit the fields of the form; they can only be edited as JSON."
        return other

    def fields(self) -> list[dict[str, Any]]:
        """For the page: each parameter with its field's name, value and error."""
        return [
            {
                "parameter": each,
                "name": PREFIX + each.name,
                "value": self.values.get(each.name, ""),
                "error": self.errors.get(each.name, ""),
            }
            for each in parameters(self.tool)
        ]


def read(known: list[Parameter], values: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The arguments that were typed, and the errors. An empty field is an argument that is not given."""
    given: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for each in known:
        text = values.get(each.name, "")
        if not text.strip():
            continue
        try:
            given[each.name] = value_of(each.kind, text)
        except (ValueError, RecursionError):
            example = "[]" if "array" in each.type else "{}"
            errors[each.name] = f"This is not JSON. It takes {each.type}, such as {example}."
    return given, errors


def value_of(kind: str, text: str) -> Any:
    """A typed value; a text that is none of its kind is passed on as it is, for the tool to refuse.

    Raises ValueError or RecursionError for text that is to be JSON and is not.
    """
    if kind == "integer":
        return int(text) if INTEGER.fullmatch(text.strip()) else text
    if kind == "number":
        try:
            return json.loads(text, parse_constant=no_constant)
        except (ValueError, RecursionError):
            return text
    if kind == "boolean":
        return {"true": True, "false": False}.get(text, text)
    if kind == "json":
        return json.loads(text, parse_constant=no_constant)
    return text.replace("\r\n", "\n")  # as browsers end the lines of a text box


def no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def as_typed(known: list[Parameter], arguments: dict[str, Any]) -> dict[str, str]:
    """What to type for these arguments."""
    return {
        each.name: text_of(each.kind, arguments[each.name])
        for each in known
        if each.name in arguments and arguments[each.name] is not None
    }


def text_of(kind: str, value: Any) -> str:
    if isinstance(value, str) and kind != "json":
        return value
    return json.dumps(value, indent=2 if kind == "json" else None, ensure_ascii=False)
