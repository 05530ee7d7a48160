"""Laws of the call form over all tools: a browser sends back what fills it, and each fault finds its field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from mcp_servers.catalogue import SERVERS, TOOLS
from mcp_servers.core import Tool
from mcp_servers.core.random_walk import Walker
from mcp_servers.world import World
from prove_web.servers.argument_examples import example
from prove_web.servers.arguments import FORM, JSON, CallForm, is_same_json
from prove_web.servers.field_errors import of_form, of_refusal
from prove_web.servers.form_codec import as_typed, read, with_row, without_row
from prove_web.servers.parameters import Reader, parameters
from training_worker.graph.sampler import NothingFits

CALLS = 25  # of a walk over one server
NESTED = {
    "$defs": {"Place": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "integer"}}}},
    "type": "object",
    "required": ["to", "tags"],
    "properties": {
        "to": {"$ref": "#/$defs/Place"},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 30}},
        "stops": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Place"}}, {"type": "null"}]},
        "level": {"enum": [1, 2, "high"]},
        "ratio": {"type": "number"},
        "note": {"type": ["string", "null"], "default": "none"},
        "urgent": {"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": None},
        "any/thing#else": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    },
}
TEXT = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=8)
PLACE = st.fixed_dictionaries({}, optional={"city": TEXT, "zip": st.integers(-(10**9), 10**9)})
VALUES = st.fixed_dictionaries(
    {"to": PLACE, "tags": st.lists(TEXT, max_size=4)},
    optional={
        "stops": st.none() | st.lists(PLACE, max_size=3),
        "level": st.sampled_from([1, 2, "high"]),
        "ratio": st.floats(-1e6, 1e6, allow_subnormal=False),
        "note": st.none() | TEXT,
        "urgent": st.none() | st.booleans(),
        "any/thing#else": TEXT | st.integers(0, 99),
    },
)


class Fields(HTMLParser):
    """What a browser sends from a form: the values of its fields, and of checkboxes only the ticked ones."""

    def __init__(self, html: str):
        super().__init__()
        self.sent: dict[str, str] = {}
        self.area = self.select = None
        self.taken = False
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        name = found.get("name", "")
        if tag == "input" and (found.get("type") != "checkbox" or "checked" in found):
            self.sent[name] = found.get("value", "").replace("\r", "").replace("\n", "")
        elif tag == "textarea":
            self.area, self.sent[name] = name, ""
        elif tag == "select":
            self.select = name
        elif tag == "option" and self.select:
            chosen = "selected" in found or self.select not in self.sent
            self.taken = chosen and "value" not in found  # then its text is its value
            if chosen:
                self.sent[self.select] = found.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            text = self.sent[self.area].removeprefix("\n")
            self.sent[self.area] = text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")
            self.area = None
        self.select = None if tag == "select" else self.select
        self.taken = self.taken and tag != "option"

    def handle_data(self, data: str) -> None:
        if self.area is not None:
            self.sent[self.area] += data
        elif self.taken:
            self.sent[self.select] += data


def test_a_date_and_time_is_picked_in_utc_and_sent_as_the_tool_takes_it() -> None:
    tool = TOOLS["create_event"][1]
    form = CallForm.from_arguments(tool, {"start": "2026-05-01T18:00:00Z"})
    field = next(field for field in form.fields() if field["path"] == "start")
    assert (form.mode, field["input"], field["value"]) == (FORM, "datetime-local", "2026-05-01T18:00")
    assert sent_back(form) == {"start": "2026-05-01T18:00:00Z"}


@pytest.mark.parametrize("text", ["2026-05-01T18:00:30Z", "2026-05-01t20:00:00+02:00", "tomorrow"])
def test_a_date_and_time_that_the_picker_cannot_show_stays_as_it_was_typed(text: str) -> None:
    form = CallForm.from_arguments(TOOLS["create_event"][1], {"start": text})
    field = next(field for field in form.fields() if field["path"] == "start")
    assert (form.mode, field["input"], sent_back(form)) == (FORM, "text", {"start": text})


def sent_back(form: CallForm) -> dict[str, Any] | None:
    """Render the form, send it back unchanged, and return its arguments."""
    request = RequestFactory().get("/")
    fields = [
        render_to_string("servers/argument.html", {"field": field, "parameter": field["parameter"]}, request)
        for field in form.fields()
    ]
    back = CallForm.from_post(form.tool, {**Fields("".join(fields)).sent, "mode": form.mode, "raw": form.raw})
    return back.arguments()


def walked(server: str, seed: int = 7) -> Iterator[tuple[Tool, dict[str, Any], str]]:
    """Yield random calls, some of them wrong, with their replies."""
    session = SERVERS[server].open(seed, "small")
    walker = Walker(SERVERS[server].tools, [session.state], "forms", server)
    for _ in range(CALLS):
        step = walker.walk(session)
        yield SERVERS[server].tools[step.tool], json.loads(step.arguments), step.reply.text


@pytest.mark.parametrize("server", SERVERS)
def test_what_the_form_is_filled_with_comes_back_from_the_browser(server: str) -> None:
    for tool, arguments, _ in walked(server):
        form = CallForm.from_arguments(tool, arguments)
        assert is_same_json(sent_back(form), arguments), (tool.name, arguments)
        assert is_same_json(sent_back(CallForm.from_arguments(tool, arguments, JSON)), arguments)


@pytest.mark.parametrize("server", SERVERS)
def test_valid_arguments_never_need_json_except_for_blank_texts(server: str) -> None:
    for tool, arguments, _ in walked(server):
        blank = any(isinstance(value, str) and not value.strip() for value in arguments.values())
        if not of_form(tool, arguments) and not blank:
            assert CallForm.from_arguments(tool, arguments).mode == FORM, (tool.name, arguments)


@pytest.mark.parametrize("server", SERVERS)
def test_an_example_fits_the_schema_is_always_the_same_and_comes_back_from_the_form(server: str) -> None:
    world, count = World.open(7, (server,), "small"), 0
    before = world.digest()
    for tool in SERVERS[server].tools.values():
        try:
            found = example(world, tool)
        except NothingFits:
            continue
        count += 1
        assert of_form(tool, found.arguments) == {}
        assert found == example(World.open(7, (server,), "small"), tool)
        assert is_same_json(sent_back(CallForm.from_arguments(tool, found.arguments)), found.arguments)
        assert world.fork().call(tool.name, found.arguments).ok is not bool(found.refused)
    assert count >= 0.7 * len(SERVERS[server].tools)
    assert world.digest() == before


@pytest.mark.parametrize("server", SERVERS)
def test_every_fault_of_the_form_stands_beside_its_field_or_is_reported_for_the_form(server: str) -> None:
    for tool, arguments, text in walked(server):
        problems = of_form(tool, arguments)
        beside, rest = of_refusal(tool, arguments, text) if problems else ({}, "")
        message = " ".join([*beside.values(), rest])
        assert all(problem in message for problem in problems.values()), (tool.name, problems, beside, rest)
        known = {field["path"] for field in CallForm.from_arguments(tool, arguments).fields()}
        assert {path.split("/")[0] for path in beside} <= known


def test_all_343_tools_have_fields_for_all_their_parameters_and_none_needs_json() -> None:
    found = [(name, one) for name, (_, tool) in TOOLS.items() for one in parameters(tool)]
    assert len(TOOLS) == 343
    assert [(name, one.name) for name, one in found if one.kind == "json"] == []


def test_a_form_of_which_nothing_is_filled_in_says_no_arguments() -> None:
    for _, tool in TOOLS.values():
        form = CallForm.from_arguments(tool, {})
        assert form.mode == FORM and sent_back(form) == {}


@given(VALUES)
def test_nested_objects_lists_choices_and_nulls_come_back(arguments: dict[str, Any]) -> None:
    known = nested()
    assert is_same_json(read(known, as_typed(known, arguments)), (arguments, {}))


def nested() -> list[Any]:
    reader = Reader(NESTED["$defs"])
    return [
        reader.parameter(name, part, name in NESTED["required"], "", False)
        for name, part in NESTED["properties"].items()
    ]


@given(VALUES, st.integers(0, 3))
def test_a_row_is_added_at_the_end_and_any_row_can_be_taken_out(arguments: dict[str, Any], at: int) -> None:
    known, tags = nested(), arguments["tags"]
    typed = as_typed(known, arguments)
    assert read(known, with_row(typed, "tags"))[0]["tags"] == [*tags, ""]
    left = read(known, without_row(typed, f"tags/{at}"))[0]
    assert is_same_json(left, {**arguments, "tags": tags[:at] + tags[at + 1 :]})
    if len(stops := arguments.get("stops") or []) > at:
        left = read(known, without_row(typed, f"stops/{at}"))[0]
        assert is_same_json(left, {**arguments, "stops": stops[:at] + stops[at + 1 :]})


@pytest.mark.parametrize("row", ["9" * 5_000, "²", "-1", ""])
def test_a_row_that_cannot_be_is_not_taken_out(row: str) -> None:
    typed = {"tags#rows": "2", "tags/0": "a", "tags/1": "b", "tags/" + "9" * 5_000: "c"}
    assert without_row(typed, f"tags/{row}") == typed
    assert without_row(typed, "tags/0")["tags/0"] == "b"


def test_a_schema_that_holds_itself_is_filled_in_as_json_where_it_gets_too_deep() -> None:
    node = {"type": "object", "properties": {"child": {"$ref": "#/$defs/Node"}}}
    one = Reader({"Node": node}).parameter("root", {"$ref": "#/$defs/Node"}, True, "", False)
    kinds = []
    while one.parts:
        kinds.append(one.kind)
        [one] = one.parts
    assert (set(kinds), one.kind) == ({"object"}, "json")


def test_a_refusal_that_names_one_value_stands_beside_the_field_that_holds_it() -> None:
    tool = TOOLS["transfer_money"][1]
    given = {name: "ACC-0000" if name in tool.ids else 5 for name in tool.required}
    given |= {name: f"ACC-000{at}" for at, name in enumerate(n for n in tool.required if n in tool.ids)}
    wrong = next(iter(value for value in given.values() if isinstance(value, str)))
    beside, rest = of_refusal(tool, given, json.dumps({"error": "not_found", "message": f"There is no {wrong}."}))
    assert (list(beside.values()), rest) == ([f"There is no {wrong}."], "")
    assert of_refusal(tool, given, "not JSON") == ({}, "not JSON")
