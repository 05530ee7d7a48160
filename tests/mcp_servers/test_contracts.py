"""What every server promises by its types and texts alone, before any call is made."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from datetime import date, datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin, get_type_hints

import pytest
from jsonschema import Draft202012Validator
from library.tools import server as library
from mini import server as mini

from mcp_servers.catalogue import SERVERS, TOOLS, fingerprint
from mcp_servers.core import Entity
from mcp_servers.core.server import ids_in

ALL = (*SERVERS.values(), mini, library)
COUNTS = {
    "banking": 17,
    "trading": 13,
    "payments": 10,
    "calendar": 17,
    "email": 17,
    "filesystem": 40,
    "shopping": 23,
    "marketplace": 13,
    "retail_chain": 11,
    "travel_booking": 20,
    "maps": 16,
    "social_media": 15,
    "team_chat": 11,
    "iot_devices": 25,
    "vehicle": 20,
    "crm": 16,
    "issue_tracker": 20,
    "budget": 12,
    "food_delivery": 17,
    "video_meeting": 10,
}
ATOMS = {str, int, bool, date, datetime, NoneType}
PLACE = re.compile(r"\{(\w*)\}")
OPTION = re.compile(r"\[([^\[\]]*)\]")

every_server = pytest.mark.parametrize("server", ALL, ids=lambda server: server.name)
ALL_TOOLS = [tool for server in ALL for tool in server.tools.values()]


def test_the_servers_have_exactly_their_tools():
    assert {name: len(server.tools) for name, server in SERVERS.items()} == COUNTS
    assert len(TOOLS) == sum(COUNTS.values()), "two servers have a tool of the same name"


def test_a_fingerprint_names_a_set_of_servers():
    assert fingerprint(["banking", "email"]) == fingerprint(["email", "banking", "email"])
    assert len({fingerprint(names) for names in [["banking"], ["email"], ["banking", "email"]]}) == 3
    with pytest.raises(KeyError):
        fingerprint(["no such server"])


@every_server
def test_rows_are_frozen_all_the_way_down(server):
    for row_type in type(server.seed(0, "small")).row_types().values():
        assert issubclass(row_type, Entity)
        assert not list(unfrozen(row_type, row_type.__name__))


def test_results_are_frozen_too_and_hold_no_floats():
    assert [place for tool in ALL_TOOLS for place in unfrozen(tool.result_type, tool.name)] == []


def unfrozen(hint: Any, path: str) -> Iterator[str]:
    """The places of a type that could be changed in place, or whose text depends on the machine."""
    origin, parts = get_origin(hint), get_args(hint)
    if isinstance(hint, NewType):
        yield from unfrozen(hint.__supertype__, path)
    elif origin is Annotated:
        yield from unfrozen(parts[0], path)
    elif dataclasses.is_dataclass(hint):
        if not hint.__dataclass_params__.frozen:
            yield f"{path} is not frozen"
        hints = get_type_hints(hint, include_extras=True)
        for field in dataclasses.fields(hint):
            yield from unfrozen(hints[field.name], f"{path}.{field.name}")
    elif origin in (tuple, Union, UnionType):
        for part in parts:
            if part is not Ellipsis:
                yield from unfrozen(part, path)
    elif origin is not Literal and hint not in ATOMS:
        yield f"{path} is {hint}"


@every_server
def test_every_id_a_tool_needs_some_tool_can_give_beginning_from_nothing(server):
    known: frozenset[str] = frozenset()
    while True:
        usable = [tool for tool in server.tools.values() if tool.consumes <= known]
        grown = known.union(*(ids_in(tool.result_type) for tool in usable if not tool.writes or known))
        if grown == known:
            break
        known = grown
    assert [tool.name for tool in server.tools.values() if not tool.consumes <= known] == []


@every_server
def test_there_are_laws_to_keep(server):
    assert len(server.invariants) >= 4
    assert all(law.__doc__ for law in server.invariants.values())


@every_server
def test_the_label_of_a_row_uses_its_own_fields(server):
    for row_type in type(server.seed(0, "small")).row_types().values():
        assert set(PLACE.findall(row_type.__label__)) <= set(get_type_hints(row_type))


@every_server
def test_every_parameter_and_tool_is_described(server):
    for tool in server.tools.values():
        assert re.fullmatch(r"[A-Z].*\.", tool.description), tool.name
        assert len(tool.description.split(". ")[0].split()) <= 14, tool.name
        for name, schema in tool.input_schema["properties"].items():
            assert schema.get("description"), f"{tool.name}: {name} has no description"


def test_what_is_destructive_writes():
    assert [tool.name for tool in ALL_TOOLS if tool.destructive and not tool.writes] == []


@every_server
def test_the_schemas_are_json_schemas_without_titles_and_floats(server):
    for tool in server.tools.values():
        for schema in (tool.input_schema, tool.output_schema):
            Draft202012Validator.check_schema(schema)
            assert "'title': '" not in str({**schema, "properties": ()}), tool.name
            assert "'type': 'number'" not in str(schema), tool.name
        assert (tool.input_schema["type"], tool.input_schema["additionalProperties"]) == ("object", False), tool.name
        assert sorted(tool.input_schema.get("required", ())) == sorted(tool.required), tool.name


@every_server
def test_the_examples_of_a_parameter_are_values_it_takes(server):
    for tool in server.tools.values():
        definitions = tool.input_schema.get("$defs", {})
        for name, schema in tool.input_schema["properties"].items():
            check = Draft202012Validator({**schema, "$defs": definitions})
            assert all(check.is_valid(example) for example in schema.get("examples", ())), f"{tool.name}: {name}"
