"""The parts of mcp_servers/core: tables as values, ids, digests, and what a signature says about a tool."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import mini
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mcp_servers.core import NotFound, is_held_out
from mcp_servers.core.state import row_hash

KINDS = st.sampled_from(["savings", "checking", "loan"])
PLACES = st.integers(0, 30)


def account(id: str, kind: str = "loan", balance: int = 0) -> mini.Account:
    return mini.Account(id=mini.AccountId(id), kind=kind, owner="x", pin="0000", balance=balance)


class TableIsADictionary(RuleBasedStateMachine):
    """After any operation a table holds the same rows as a plain dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.state = mini.seed(1, "small").settle()
        self.rows = {row.id: row for row in self.state.accounts}
        self.known = list(self.rows)

    @rule(kind=KINDS, balance=st.integers(0, 3))
    def put_new(self, kind, balance):
        row = account(self.state.accounts.new_id(), kind, balance)
        assert row.id not in self.known
        assert self.state.accounts.put(row) is row
        self.rows[row.id] = row
        self.known.append(row.id)

    @precondition(lambda self: self.known)
    @rule(place=PLACES, kind=KINDS, balance=st.integers(0, 3))
    def put_again(self, place, kind, balance):
        id = self.known[place % len(self.known)]
        self.rows[id] = self.state.accounts.put(account(id, kind, balance))

    @precondition(lambda self: self.known)
    @rule(place=PLACES, balance=st.integers(0, 3))
    def change(self, place, balance):
        id = self.known[place % len(self.known)]
        if id in self.rows:
            self.rows[id] = self.state.accounts.change(id, balance=balance)
        else:
            with pytest.raises(NotFound, match=f"There is no account {id}."):
                self.state.accounts.change(id, balance=balance)

    @precondition(lambda self: self.known)
    @rule(place=PLACES)
    def remove(self, place):
        id = self.known[place % len(self.known)]
        if id in self.rows:
            assert self.state.accounts.remove(id) == self.rows.pop(id)
        else:
            with pytest.raises(NotFound):
                self.state.accounts.remove(id)

    @rule()
    def go_on_in_a_draft(self):
        self.state = self.state.draft("some call")

    @rule()
    def begin_again_from_here(self):
        self.state.settle()
        self.known = list(self.rows)

    @invariant()
    def it_holds_the_same_rows(self):
        table = self.state.accounts
        assert {row.id: row for row in table} == self.rows
        assert len(table) == len(self.rows) == len(list(table))
        assert all((id in table) == (id in self.rows) and table.get(id) == self.rows.get(id) for id in self.known)

    @invariant()
    def where_finds_what_a_scan_finds_in_the_order_of_the_table(self):
        table = self.state.accounts
        for kind in ("savings", "checking", "loan", "none"):
            assert table.where(kind=kind) == [row for row in table if row.kind == kind]
            assert table.where(kind=kind, balance=1) == [row for row in table if row.kind == kind and row.balance == 1]
        assert table.where(balance=1) == [row for row in table if row.balance == 1]

    @invariant()
    def the_digest_is_that_of_the_rows(self):
        assert self.state.digest() == self.state.full_digest()


TestTableIsADictionary = TableIsADictionary.TestCase
TestTableIsADictionary.settings = settings(max_examples=40, stateful_step_count=25)


@given(balances=st.permutations(range(4)))
def test_a_digest_depends_on_the_rows_and_not_on_the_order_they_came_in(balances):
    state = mini.Till(1, datetime(2026, 3, 5))
    for balance in balances:
        state.accounts.put(account(f"MAC-{balance}", balance=balance))
    ordered = mini.Till(1, datetime(2026, 3, 5))
    for balance in range(4):
        ordered.accounts.put(account(f"MAC-{balance}", balance=balance))
    assert state.digest() == ordered.digest()


def test_a_digest_tells_rows_tables_and_clocks_apart():
    state = mini.seed(1, "small")
    other = state.draft(now=datetime(2030, 1, 1))
    assert other.digest() != state.digest() and other.tables_digest() == state.tables_digest()
    other.accounts.change(next(iter(other.accounts)).id, owner="someone else")
    assert other.tables_digest() != state.tables_digest()
    elsewhere = state.accounts.copy()
    elsewhere.about = replace(elsewhere.about, name="elsewhere")
    shared = account("MAC-1")
    here, there = row_hash(state.accounts, shared), row_hash(elsewhere, shared)
    assert here != there, "also of one row that is in both, as people are in the tables of several servers"
    assert (here, there) == (row_hash(state.accounts, account("MAC-1")), row_hash(elsewhere, account("MAC-1")))


def test_ids_are_never_used_twice_and_stay_on_their_side():
    for seed, held_out in ((5, False), (1_000_000_005, True)):
        table = mini.Till(seed, datetime(2026, 3, 5)).accounts
        ids = []
        for _ in range(300):
            ids.append(table.new_id())
            table.put(account(ids[-1]))
            table.remove(ids[-1])
        assert len(set(ids)) == 300
        assert {is_held_out(id) for id in ids} == {held_out}


def test_ids_requested_before_the_rows_are_there_differ_too():
    table = mini.Till(5, datetime(2026, 3, 5)).accounts
    assert table.new_id() != table.new_id()


def test_an_id_depends_on_the_seed_the_prefix_and_the_call():
    state = mini.Till(5, datetime(2026, 3, 5))
    first, other = state.draft("a call"), state.draft("another call")
    ids = [first.accounts.new_id(), other.accounts.new_id(), first.notes.new_id()]
    ids.append(mini.Till(6, datetime(2026, 3, 5)).draft("a call").accounts.new_id())
    assert len({id[4:] for id in ids}) == 4
    assert ids[0] == state.draft("a call").accounts.new_id()
    assert ids[0] == mini.seed(5, "small").draft("a call").accounts.new_id()


def test_a_full_table_says_so():
    table = mini.Till(5, datetime(2026, 3, 5)).accounts
    table.width = 1
    with pytest.raises(OverflowError, match="The table MAC is full"):
        for _ in range(11):
            table.put(account(table.new_id()))


def test_a_signature_says_what_a_tool_needs_and_gives():
    move, note, read = (mini.server.tools[name] for name in ("mini_move", "mini_note", "mini_read_note"))
    assert (move.consumes, move.produces) == ({"AccountId"}, frozenset())
    assert (note.consumes, note.produces) == ({"AccountId"}, {"NoteId"})
    assert (read.consumes, read.produces) == ({"NoteId"}, {"AccountId"})
    assert move.required == ("source", "target", "amount", "pin") and note.required == ("account", "text", "due")
    assert (move.sensitive, note.sensitive) == ({"pin"}, frozenset())
    assert (move.destructive, note.writes, read.writes) == (True, True, False)


def test_a_schema_says_what_is_taken():
    assert mini.server.tools["mini_note"].input_schema == {
        "type": "object",
        "properties": {
            "account": {"type": "string", "description": "Id of an account"},
            "text": {
                "type": "string",
                "description": "What to note",
                "minLength": 1,
                "maxLength": 40,
                "examples": ["rent", "gift"],
            },
            "due": {"type": "string", "format": "date-time", "description": "When it is due, as YYYY-MM-DDTHH:MM:SSZ"},
            "day": {
                "anyOf": [{"type": "string", "format": "date"}, {"type": "null"}],
                "default": None,
                "description": "A day, as YYYY-MM-DD",
            },
            "tags": {
                "type": "array",
                "items": {"type": "string", "enum": ["home", "work"]},
                "maxItems": 2,
                "default": [],
                "description": "Labels of the note",
            },
        },
        "required": ["account", "text", "due"],
        "additionalProperties": False,
    }


def test_a_result_leaves_out_what_is_not_there_and_reads_as_it_was_given():
    session = mini.server.open(7)
    account = session.call("mini_accounts", {}).data[0]["id"]
    later = {"account": account, "text": "Müll 💥", "due": "2030-03-05T10:00:00Z", "tags": ["home"]}
    note = session.call("mini_note", later)
    assert note.ok and '"day"' not in note.text and "Müll 💥" in note.text
    assert note.data == {"id": note.data["id"], **later}
    dated = session.call("mini_note", {**later, "day": "2026-01-02"})
    assert dated.data["day"] == "2026-01-02" and dated.data["id"] != note.data["id"]


def test_a_later_clock_can_be_set_and_an_earlier_one_cannot():
    session = mini.server.open(7)
    account = session.call("mini_accounts", {}).data[0]["id"]
    begun, later = session.state.now, datetime(2031, 1, 1, 12)
    note = {"account": account, "text": "rent", "due": "2030-03-05T10:00:00Z"}
    assert session.call("mini_note", note, now=later).data["error"] == "in_the_past"
    assert session.call("mini_accounts", {}, now=later).ok and session.state.now == begun
    assert session.call("mini_note", note, now=datetime(2000, 1, 1)).ok
    assert session.state.now.minute == begun.minute + 1


def test_the_history_tells_every_call_with_canonical_arguments():
    session = mini.server.open(7)
    session.call("mini_accounts", '{ "kind" : "loan" }')
    session.call("mini_accounts", "{")
    session.call("nothing", {})
    steps = [(step.number, step.tool, step.arguments, step.reply and step.reply.ok) for step in session.history()]
    assert steps == [
        (0, "", "{}", None),
        (1, "mini_accounts", '{"kind":"loan"}', True),
        (2, "mini_accounts", "{}", False),
        (3, "nothing", "{}", False),
    ]
