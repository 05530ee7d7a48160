"""Servers with a bug each: every law of the walks must catch the one that breaks it."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated

import mini
import pytest
from pydantic import AfterValidator, Field, PlainSerializer, WithJsonSchema
from record import (
    invariants_hold,
    reads_and_refusals_change_nothing,
    record,
    states_are_immutable,
)
from schema_checks import arguments_are_taken, results_fit_their_schemas

from mcp_servers.core import Server, ToolError


def mutant(name: str) -> Server[mini.Till]:
    """The mini server without tools: a place for one with a bug."""
    server = Server(name, "A till with a bug.", mini.seed)
    server.invariants.update(mini.server.invariants)
    return server


def test_a_read_that_writes_is_caught():
    server = mutant("reader")

    @server.read()
    def mutant_look(till: mini.Till) -> int:
        """Look, and count the looks on the first account."""
        account = next(iter(till.accounts))
        return till.accounts.change(account.id, balance=account.balance + 1).balance

    with pytest.raises(AssertionError, match="step 1, mutant_look, changed the state"):
        reads_and_refusals_change_nothing(record(server, 1, "small", 5))
    with pytest.raises(AssertionError, match="an earlier state is not what it was"):
        states_are_immutable(record(server, 1, "small", 5))


def test_a_write_that_breaks_an_invariant_is_caught():
    server = mutant("giver")

    @server.write()
    def mutant_give(till: mini.Till) -> int:
        """Make money from nothing."""
        account = next(iter(till.accounts))
        return till.accounts.change(account.id, balance=account.balance + 1).balance

    with pytest.raises(AssertionError, match=r"mutant_give, breaks .'money_is_kept'."):
        invariants_hold(record(server, 1, "small", 5))


def test_a_write_past_the_tables_is_caught():
    server = mutant("sneak")

    @server.write()
    def mutant_sneak(till: mini.Till) -> int:
        """Change a row in place."""
        account = next(iter(till.accounts))
        object.__setattr__(account, "balance", account.balance + 1)
        return account.balance

    with pytest.raises(AssertionError, match="an earlier state is not what it was"):
        states_are_immutable(record(server, 1, "small", 5))


def test_a_write_that_refuses_half_way_leaves_nothing_behind():
    server = mutant("quitter")

    @server.write()
    def mutant_quit(till: mini.Till) -> int:
        """Change everything, then refuse."""
        for account in till.accounts:
            till.accounts.remove(account.id)
        raise ToolError("changed_my_mind", "Try again.")

    walked = record(server, 1, "small", 5)
    assert walked.session.state is walked.session.get_step(0).state
    assert "changed_my_mind" in {json.loads(reply.text)["error"] for reply in walked.replies}


def utc_only(text: str) -> str:
    if not text.endswith("Z"):
        raise ValueError("must end with Z")
    return text


DATE_TIME = WithJsonSchema({"type": "string", "format": "date-time"})
UtcOnly = Annotated[str, AfterValidator(utc_only), DATE_TIME, Field(description="When, in UTC")]
OldMoment = Annotated[
    datetime,
    PlainSerializer(lambda moment: moment.isoformat(timespec="minutes"), return_type=str),
    DATE_TIME,
]


def test_a_result_that_breaks_the_format_of_its_schema_is_caught():
    server = mutant("clock")

    @server.read()
    def mutant_time(till: mini.Till) -> tuple[OldMoment, ...]:
        """Tell the time without an offset."""
        return (till.now,)

    session = server.open(1, "small")
    assert session.call("mutant_time", {}).ok
    with pytest.raises(AssertionError, match=r"step 1, mutant_time: \$.result\[0\]: .* is not a 'date-time'"):
        results_fit_their_schemas(session)


def test_an_argument_that_the_schema_allows_and_the_tool_does_not_is_caught():
    server = mutant("picky")

    @server.read()
    def mutant_when(till: mini.Till, when: UtcOnly) -> str:
        """Look at a moment, which must be in UTC."""
        return when

    with pytest.raises(AssertionError, match="mutant_when: when must end with Z"):
        arguments_are_taken(server.open(1, "small"), server.tools["mutant_when"])


def test_a_bug_of_a_tool_surfaces():
    server = mutant("crash")

    @server.read()
    def mutant_crash(till: mini.Till) -> int:
        """Fail."""
        return 1 // 0

    session = server.open(1)
    with pytest.raises(ZeroDivisionError):
        session.call("mutant_crash", {})
    assert session.head.number == 0


def test_a_parameter_without_a_description_is_refused():
    with pytest.raises(TypeError, match="mutant_bare: the parameter what has no description"):

        @mutant("bare").read()
        def mutant_bare(till: mini.Till, what: int) -> int:
            """Look."""
            return what
