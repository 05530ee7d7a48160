"""Arguments from a stranger: whatever comes in, the answer is a reply, and a refusal names what is wrong."""

from __future__ import annotations

import json
from typing import Annotated

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from library.tools import server as library
from mini import Till
from mini import server as mini
from pydantic import Field

from mcp_servers.catalogue import SERVERS
from mcp_servers.core import Server, Session, Tool
from mcp_servers.core.random_walk import WRONG, Walker

ALL = (*SERVERS.values(), mini, library)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**16), 10**16) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
DEEP = "[" * 100_000 + "]" * 100_000
MALFORMED = {
    "not JSON": ("{", "invalid_json"),
    "nothing": ("", "invalid_json"),
    "an array": ("[]", "invalid_json"),
    "a text": ('"account"', "invalid_json"),
    "null": ("null", "invalid_json"),
    "NaN": ('{"amount": NaN}', "invalid_json"),
    "a NaN in Python": ({"amount": float("nan")}, "invalid_json"),
    "infinity": ('{"amount": -Infinity}', "invalid_json"),
    "beyond any float": ('{"amount": 1e999}', "invalid_json"),
    "not a JSON value": ({"amount": object()}, "invalid_json"),
    "bytes": ({"amount": b"1"}, "invalid_json"),
    "a lone surrogate": ({"account": "\ud800"}, "invalid_json"),
    "an escaped lone surrogate": ('{"account": "\\ud800"}', "invalid_json"),
    "a lone surrogate as a name": ({"\udfff": 1}, "invalid_json"),
    "nested 100,000 deep": (f'{{"account": {DEEP}}}', "arguments_too_large"),
    "nested 20,000 deep": ("[" * 20_000 + "]" * 20_000, "invalid_json"),
    "nested 17 deep": (f'{{"account": {"[" * 17}{"]" * 17}}}', "arguments_too_deep"),
    "10 MB as text": ('{"account": "' + "x" * 10**7 + '"}', "arguments_too_large"),
    "10 MB as a value": ({"account": "x" * 10**7}, "arguments_too_large"),
    "10 MB as a name": ({"x" * 10**7: 1}, "arguments_too_large"),
    "many values": ({"account": ["x" * 9_000] * 50}, "arguments_too_large"),
    "a huge integer": ('{"amount": ' + "9" * 4_000 + "}", "arguments_too_large"),
    "an integer of 50,000 digits": ('{"amount": ' + "9" * 50_000 + "}", "invalid_json"),
    "a huge integer in Python": ({"amount": 10**5_000}, "invalid_json"),
    "a large integer in Python": ({"amount": -(10**16)}, "arguments_too_large"),
}

every_server = pytest.mark.parametrize("server", ALL, ids=lambda server: server.name)


def refused(session: Session, name: str, arguments: object) -> dict[str, str]:
    """The refusal of a call that must be refused and change nothing."""
    before = session.state
    reply = session.call(name, arguments)
    assert not reply.ok
    assert session.state is before and session.digest() == before.full_digest()
    assert sorted(reply.data) == ["error", "message"]
    assert reply.data["message"].endswith((".", "}")) and len(reply.data["message"]) > 10
    reply.text.encode()
    return reply.data


@pytest.mark.parametrize("case", MALFORMED)
def test_what_is_malformed_is_refused_and_changes_nothing(case):
    arguments, code = MALFORMED[case]
    for server in ALL:
        assert refused(server.open(1, "small"), next(iter(server.tools)), arguments)["error"] == code, server.name


def test_nesting_that_only_python_can_express_is_refused():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    circle: dict = {}
    circle["account"] = circle
    for arguments in ({"account": deep}, circle):
        assert refused(mini.open(1), "mini_note", arguments)["error"] == "invalid_json"


@every_server
def test_an_unknown_tool_is_refused(server):
    for name in ("", "no_such_tool", "__init__", "seed", "x" * 10**6, "\ud800", "💥\n"):
        refusal = refused(server.open(1, "small"), name, {})
        assert refusal["error"] == "unknown_tool" and len(refusal["message"]) < 1_000, name[:20]


@every_server
@settings(max_examples=20)
@given(data=st.data())
def test_any_json_at_all_gets_a_reply_and_a_refusal_names_every_fault(server, data):
    tool = server.tools[data.draw(st.sampled_from(sorted(server.tools)))]
    names = st.sampled_from(list(tool.input_schema["properties"]) or ["none"]) | st.text(max_size=12)
    check_call(server.open(1, "small"), tool, data.draw(st.dictionaries(names, JSON, max_size=6)))


@every_server
def test_one_wrong_value_among_good_ones_is_named(server):
    for tool in server.tools.values():
        walker = Walker({tool.name: tool}, [server.open(1, "small").state], "wrong", tool.name)
        for name in tool.input_schema["properties"]:
            for value in WRONG:
                check_call(server.open(1, "small"), tool, {**walker.arguments(tool), name: value})


def check_call(session: Session, tool: Tool, arguments: dict) -> None:
    """The tool refuses what its published schema does, naming each fault; other refusals are about the world."""
    before = session.digest()
    reply = session.call(tool.name, arguments)
    if not reply.ok or not tool.writes:
        assert session.digest() == before
    code = None if reply.ok else reply.data["error"]
    if code in ("arguments_too_large", "invalid_json"):
        return
    wrong, loose = wrong_parameters(tool, arguments)
    if wrong:
        assert code == "invalid_arguments", reply
        for name in wrong:
            assert name in reply.data["message"]
    elif not loose:
        assert code != "invalid_arguments", reply


def wrong_parameters(tool: Tool, arguments: dict) -> tuple[list[str], bool]:
    """The parameters that break the schema, and whether a good one has a format, which a schema cannot judge."""
    schema = tool.input_schema
    wrong = [name for name in schema.get("required", ()) if name not in arguments]
    loose = False
    for name, value in arguments.items():
        part = schema["properties"].get(name)
        if part is None or not Draft202012Validator({**part, "$defs": schema.get("$defs", {})}).is_valid(value):
            wrong.append(name)
        else:
            loose = loose or "'format'" in str(part)
    return wrong, loose


def test_every_fault_of_a_call_is_named_at_once():
    arguments = {"source": 7, "amount": "x", "pin": None, "int": 1, "a[b": 2, "": 3}
    message = refused(mini.open(7), "mini_move", arguments)["message"]
    assert message == (
        "mini_move: source must be a string; target is required; amount must be an integer; pin must be a string; "
        " is not a parameter of this tool; a[b is not a parameter of this tool; int is not a parameter of this tool."
    ).replace(";  is not", "; arguments is not")


def test_what_may_be_one_of_two_types_is_named_once_with_both():
    server = Server("either", "A server with one tool.", mini.seed)

    @server.read()
    def either_pick(
        till: Till, places: Annotated[int | tuple[int, ...], Field(description="One place or some")]
    ) -> int:
        """Pick places."""
        return places if isinstance(places, int) else sum(places)

    session = server.open(7)
    assert refused(session, "either_pick", {"places": "x"})["message"] == (
        "either_pick: places must be an integer or must be an array."
    )
    assert "places.1 must be an integer" in refused(session, "either_pick", {"places": [1, "x"]})["message"]
    assert session.call("either_pick", {"places": [1, 2]}).text == "3"


WRITTEN = "must be a date and time with seconds and an offset, written like 2026-03-05T10:00:00Z"
NO_TIME = "is not a date and time that exists"
TOO_FAR = "is outside the years 1 to 9999 in UTC"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("2026-03-05", WRITTEN),
        ("2026-03-05T10:00", WRITTEN),
        ("2026-03-05T10:00:00", WRITTEN),
        ("2026-03-05T10:00Z", WRITTEN),
        ("2026-03-05 10:00:00Z", WRITTEN),
        ("2026-03-05T10:00:00+2", WRITTEN),
        ("2026-03-05T10:00:00+24:00", WRITTEN),
        ("2026-03-05T10:00:61Z", WRITTEN),
        ("2026-03-05T10:00:00.Z", WRITTEN),
        ("2026-03-05T10:00:00Z\n", WRITTEN),
        ("٢٠٢٦-03-05T10:00:00Z", WRITTEN),
        (1_800_000_000, WRITTEN),
        (None, WRITTEN),
        ("2026-02-30T10:00:00Z", NO_TIME),
        ("2026-03-05T24:00:00Z", NO_TIME),
        ("2026-03-05T10:00:60Z", NO_TIME),
        ("0000-01-01T00:00:00Z", NO_TIME),
        ("0001-01-01T00:59:00+01:00", TOO_FAR),
        ("9999-12-31T23:00:00-01:00", TOO_FAR),
    ],
)
def test_what_is_no_rfc_3339_date_time_is_refused_with_the_reason(value, problem):
    session = mini.open(7)
    account = session.call("mini_accounts", {}).data[0]["id"]
    refusal = refused(session, "mini_note", {"account": account, "text": "rent", "due": value})
    assert refusal["message"] == f"mini_note: due {problem}."


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("2030-03-05T10:00:00Z", "2030-03-05T10:00:00Z"),
        ("2030-03-05t10:00:00z", "2030-03-05T10:00:00Z"),
        ("2030-03-05T10:00:59.999999999Z", "2030-03-05T10:00:00Z"),
        ("2030-03-05T00:30:00+02:00", "2030-03-04T22:30:00Z"),
        ("2030-12-31T23:30:00-05:45", "2031-01-01T05:15:00Z"),
        ("2030-03-05T10:00:00-00:00", "2030-03-05T10:00:00Z"),
        ("2030-06-30T16:59:60-07:00", "2030-06-30T23:59:00Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:00Z"),
    ],
)
def test_a_date_time_is_taken_in_any_offset_and_given_back_in_utc_to_the_minute(value, stored):
    session = mini.open(7)
    account = session.call("mini_accounts", {}).data[0]["id"]
    assert session.call("mini_note", {"account": account, "text": "rent", "due": value}).data["due"] == stored


def test_an_integral_float_is_an_integer_and_key_order_does_not_matter():
    first, second = mini.open(7), mini.open(7)
    rows = first.call("mini_accounts", {}).data
    source, target = rows[0], rows[1]
    as_floats = f'{{"amount": 5.0, "pin": "{source["pin"]}", "target": "{target["id"]}", "source": "{source["id"]}"}}'
    in_order = {"source": source["id"], "target": target["id"], "amount": 5, "pin": source["pin"]}
    assert first.call("mini_move", as_floats) == second.call("mini_move", in_order)
    assert first.digest() == second.digest()
    assert first.head.arguments == second.head.arguments == json.dumps(in_order, sort_keys=True, separators=(",", ":"))
