"""Schemas in a prompt: what a model acts on, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mcp_servers.catalogue import TOOLS
from mcp_servers.kit import Tool
from training_worker.prove.schemas import SHOWN, compact, tool_schema

tools = pytest.mark.parametrize("tool", [tool for _, tool in TOOLS.values()], ids=lambda tool: tool.name)


def parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A schema and every schema inside it."""
    yield schema
    for inner in schema.get("properties", {}).values():
        yield from parts(inner)
    if "items" in schema:
        yield from parts(schema["items"])


@tools
def test_a_prompt_shows_every_parameter_with_its_type_and_description(tool: Tool) -> None:
    shown = tool_schema(tool.name)["function"]
    assert (shown["name"], shown["description"]) == (tool.name, tool.description)
    assert list(shown["parameters"]["properties"]) == list(tool.input_schema["properties"])
    assert shown["parameters"]["required"] == list(tool.required)
    assert all(part.get("type") and part["description"] for part in shown["parameters"]["properties"].values())


@tools
@pytest.mark.parametrize("stripped", [False, True])
def test_a_prompt_shows_nothing_a_model_does_not_act_on(tool: Tool, stripped: bool) -> None:
    for part in parts(tool_schema(tool.name, stripped)["function"]["parameters"]):
        assert set(part) <= set(SHOWN)


@tools
def test_stripping_takes_the_value_lists_and_nothing_else(tool: Tool) -> None:
    whole, stripped = (list(parts(tool_schema(tool.name, one)["function"]["parameters"])) for one in (False, True))
    assert not any("enum" in part for part in stripped)
    assert len(whole) == len(stripped)
    for one, other in zip(whole, stripped, strict=True):
        assert set(one) - set(other) <= {"enum"}


def test_some_tool_has_a_value_list_to_strip() -> None:
    assert any("enum" in part for name in TOOLS for part in parts(tool_schema(name)["function"]["parameters"]))


def test_a_nullable_parameter_is_shown_as_the_type_itself() -> None:
    nullable = {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "default": None, "description": "A."}
    assert compact(nullable, {}, False) == {"type": "string", "description": "A."}


def test_a_reference_is_shown_as_what_it_points_at() -> None:
    definitions = {"Line": {"type": "object", "properties": {"kind": {"enum": ["a"], "type": "string", "title": "K"}}}}
    listed = {"type": "array", "items": {"$ref": "#/$defs/Line"}, "minItems": 1}
    kind = {"enum": ["a"], "type": "string"}
    assert compact(listed, definitions, False)["items"] == {"type": "object", "properties": {"kind": kind}}
    assert compact(listed, definitions, True)["items"]["properties"] == {"kind": {"type": "string"}}


def test_a_parameter_called_like_a_keyword_is_a_parameter() -> None:
    odd = {"type": "object", "properties": {"enum": {"type": "string"}, "title": {"type": "integer"}}}
    assert compact(odd, {}, True) == odd
