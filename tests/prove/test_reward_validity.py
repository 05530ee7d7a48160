"""Validity: a call's form judged by types and required keys alone, in cumulative levels."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_worker.core.trajectory import ExecutedCall, ToolCall
from training_worker.reward import form_level
from training_worker.reward.validity import validity

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "to": {"type": "string", "enum": ["ACC-1"], "minLength": 3},
        "amount": {"type": "integer", "minimum": 1},
        "rate": {"type": "number"},
        "urgent": {"type": "boolean"},
        "memo": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "limit": {"type": ["integer", "null"]},
        "either": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}]},
        "guest": {"$ref": "#/$defs/Guest"},
        "both": {"allOf": [{"$ref": "#/$defs/Guest"}, {"required": ["plus"]}]},
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
        "tree": {"$ref": "#/$defs/Tree"},
        "loop": {"$ref": "#/$defs/Loop"},
        "stray": {"$ref": "#/$defs/Nowhere"},
        "free": {},
        "never": False,
    },
    "required": ["to", "amount"],
    "additionalProperties": False,
    "$defs": {
        "Guest": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "plus": {"type": "integer"}},
            "required": ["name"],
        },
        "Tree": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}},
        "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}, {"type": "null"}]},
    },
}
SCHEMAS = {"pay": SCHEMA, "look": {"type": "object", "properties": {}}}
GOOD = {"to": "ACC-1", "amount": 5}


def level(**arguments: Any) -> int:
    return form_level(ToolCall("pay", GOOD | arguments), SCHEMAS)


@pytest.mark.parametrize("call", [ToolCall("teleport", {}), ToolCall("", None), ToolCall("pay", None)])
def test_an_unknown_tool_or_a_malformed_call_reaches_nothing(call: ToolCall) -> None:
    assert form_level(call, SCHEMAS) == 0


@pytest.mark.parametrize("missing", ["to", "amount"])
def test_a_missing_required_parameter_leaves_the_name_alone(missing: str) -> None:
    rest = {key: value for key, value in GOOD.items() if key != missing}
    assert form_level(ToolCall("pay", rest), SCHEMAS) == 1
    assert form_level(ToolCall("look", {}), SCHEMAS) == 2


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("to", ""),
        ("to", "no choice of the enum"),
        ("amount", -5),
        ("amount", 120.0),
        ("amount", 10**400),
        ("rate", 3),
        ("rate", 0.5),
        ("urgent", False),
        ("memo", None),
        ("limit", None),
        ("limit", 7),
        ("either", "x"),
        ("either", ["x"]),
        ("tags", []),
        ("place", [1, "x", None]),
        ("guest", {"name": "Ada", "unheard": 1}),
        ("both", {"name": "Ada", "plus": 1}),
        ("counts", {"x": 1}),
        ("tree", {"children": [{"children": []}]}),
        ("loop", None),
        ("loop", 1),
        ("stray", [1]),
        ("free", {"any": ["thing"]}),
        ("unheard", 1),
    ],
)
def test_these_have_compatible_types(key: str, value: Any) -> None:
    assert level(**{key: value}) == 2


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("to", 5),
        ("to", None),
        ("amount", "5"),
        ("amount", 5.5),
        ("amount", True),
        ("amount", float("inf")),
        ("rate", False),
        ("rate", "0.5"),
        ("urgent", 0),
        ("memo", 1),
        ("limit", "7"),
        ("either", [1]),
        ("tags", ["x", 1]),
        ("tags", {"0": "x"}),
        ("place", ["x"]),
        ("guest", {}),
        ("guest", {"name": "Ada", "plus": "1"}),
        ("both", {"name": "Ada"}),
        ("counts", {"x": "1"}),
        ("tree", {"children": [{"children": 1}]}),
        ("never", None),
    ],
)
def test_these_have_not(key: str, value: Any) -> None:
    assert level(**{key: value}) == 1


def test_nesting_as_deep_as_a_call_may_be_is_judged() -> None:
    tree: Any = {"children": [7]}
    for _ in range(15):
        tree = {"children": [tree]}
    assert level(tree=tree) == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "unheard"]), json_values, max_size=6))
def test_whatever_a_model_writes_gets_a_level_and_more_bad_keys_never_raise_it(arguments: dict[str, Any]) -> None:
    reached = form_level(ToolCall("pay", arguments), SCHEMAS)
    assert reached in (1, 2)
    assert form_level(ToolCall("pay", arguments | {"never": 0}), SCHEMAS) == 1
    assert form_level(ToolCall("pay", arguments | {"unknown": arguments}), SCHEMAS) == reached


@given(st.lists(st.integers(0, 3), min_size=1))
def test_validity_is_the_mean_level_in_thirds(levels: list[int]) -> None:
    calls = [ExecutedCall(ToolCall("pay", {}), level) for level in levels]
    assert validity(calls) == pytest.approx(sum(level / 3 for level in levels) / len(levels))
    assert validity([]) == 0
