"""Schemas in a prompt: they hold what a model acts on, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mcp_servers.catalogue import TOOLS
from training_worker.chat.schemas import KEYWORDS, compact, tool_schema


def parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a schema and every schema inside it."""
    yield schema
    for inner in schema.get("properties", {}).values():
        yield from parts(inner)
    if "items" in schema:
        yield from parts(schema["items"])


def test_a_prompt_shows_every_parameter_with_its_type_and_description() -> None:
    for name, (_, tool) in TOOLS.items():
        function = tool_schema(name)["function"]
        assert (function["name"], function["description"]) == (name, tool.description)
        properties = function["parameters"]["properties"]
        assert list(properties) == list(tool.input_schema["properties"]), name
        assert function["parameters"]["required"] == list(tool.required), name
        assert all(part.get("type") and part["description"] for part in properties.values()), name


def test_a_prompt_shows_nothing_a_model_does_not_act_on() -> None:
    for name in TOOLS:
        for stripped in (False, True):
            for part in parts(tool_schema(name, stripped)["function"]["parameters"]):
                assert set(part) <= set(KEYWORDS), name


def test_stripping_takes_the_value_lists_and_nothing_else() -> None:
    for name in TOOLS:
        full, stripped = (list(parts(tool_schema(name, one)["function"]["parameters"])) for one in (False, True))
        assert not any("enum" in part for part in stripped), name
        assert len(full) == len(stripped), name
        assert all(set(one) - set(other) <= {"enum"} for one, other in zip(full, stripped, strict=True)), name


def test_some_tool_has_a_value_list_to_strip() -> None:
    assert any("enum" in part for name in TOOLS for part in parts(tool_schema(name)["function"]["parameters"]))


def test_a_nullable_parameter_has_the_type_itself() -> None:
    nullable = {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "default": None, "description": "A."}
    assert compact(nullable, {}, False) == {"type": "string", "description": "A."}


def test_a_reference_is_replaced_by_its_target() -> None:
    definitions = {"Line": {"type": "object", "properties": {"kind": {"enum": ["a"], "type": "string", "title": "K"}}}}
    listed = {"type": "array", "items": {"$ref": "#/$defs/Line"}, "minItems": 1}
    kind = {"enum": ["a"], "type": "string"}
    assert compact(listed, definitions, False)["items"] == {"type": "object", "properties": {"kind": kind}}
    assert compact(listed, definitions, True)["items"]["properties"] == {"kind": {"type": "string"}}


def test_a_parameter_called_like_a_keyword_is_a_parameter() -> None:
    odd = {"type": "object", "properties": {"enum": {"type": "string"}, "title": {"type": "integer"}}}
    assert compact(odd, {}, True) == odd
