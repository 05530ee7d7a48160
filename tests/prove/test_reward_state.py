"""Final states of real worlds: equal up to the names of new ids and to the clock, and different in all else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_servers.catalogue import SERVERS, TOOLS, fingerprint
from mcp_servers.core import Draw
from mcp_servers.core.random_walk import Walker
from mcp_servers.core.state import adapter
from mcp_servers.world import World
from training_worker.chat.protocol import write_calls
from training_worker.core.trajectory import Example, Rollout, Step, ToolCall, WorldRef
from training_worker.environment.episode import Attempt, Limits, oracle
from training_worker.reward.final_state import final_state
from training_worker.reward.id_isomorphism import ID, collect_new_ids, signature
from training_worker.reward.state import share, state
from training_worker.reward.state_diff import (
    Unreplayable,
    list_successful_calls,
    outcome,
    run_still,
    run_ticking,
    truth_of,
)

WORLD = WorldRef(7, ("banking", "calendar", "email"), "small")
Calls = Sequence[ToolCall]


def opened() -> World:
    return World.open(WORLD.seed, WORLD.servers, WORLD.size)


def look(tool: str) -> Any:
    return json.loads(opened().call(tool, {}).text)


CALENDAR = next(row["id"] for row in look("list_calendars") if not row.get("read_only"))
PERSON, OTHER = [row["id"] for row in look("find_contacts")][:2]
ACCOUNT = look("list_accounts")[0]["id"]
IBANS = ("DE44500105175407324931", "DE75512108001245126199")


def call(tool: str, /, **arguments: Any) -> ToolCall:
    return ToolCall(tool, arguments)


def after(*calls: ToolCall) -> list[Any]:
    """Return the data that each call answers; the calls run in order, and each has to succeed."""
    world = opened()
    replies = [world.call(one.name, one.arguments or {}) for one in calls]
    assert all(reply.ok for reply in replies), [reply.text for reply in replies]
    return [reply.data for reply in replies]


def example_of(*calls: ToolCall, where: WorldRef = WORLD) -> Example:
    """Return an example whose ground truth is these calls."""
    world = World.open(where.seed, where.servers, where.size)
    digests = [world.digest()]
    for one in calls:
        assert world.call(one.name, one.arguments or {}).ok
        digests.append(world.digest())
    steps = tuple(Step((one,)) for one in calls)
    return Example(
        id=f"asked {calls}", kind="chain", split="train", world=where, turns=("Do it.",), steps=steps, edges=(),
        candidates=tuple(name for server in where.servers for name in SERVERS[server].tools), answers=("Done.",),
        digests=tuple(digests), fingerprint=fingerprint(where.servers),
    )  # fmt: skip


def made(example: Example, *calls: ToolCall) -> Rollout:
    """Return a rollout that makes these calls, one per turn."""
    attempt = Attempt(example, Limits(assistant_turns=60, calls=60))
    for one in calls:
        attempt.answer(write_calls([one]))
    return attempt.finish()


def draft(subject: str, body: str = "Hello to you all.") -> ToolCall:
    return call("create_draft", to=PERSON, subject=subject, body=body)


def test_the_ground_truth_itself_ends_in_the_ground_truths_state(chains: list[Example]) -> None:
    for example in chains[:60]:
        rollout = oracle(example)
        assert state(example, rollout) == 1
        assert state(example, replace(rollout, digest="")) == 1, "replayed, not told by the digest"


def test_doing_nothing_is_not_enough_exactly_where_the_ground_truth_changes_something(chains: list[Example]) -> None:
    for example in chains[:60]:
        idle = Attempt(example).finish()
        changed = bool(truth_of(example).still and truth_of(example).still.signatures)
        assert (final_state(example, idle) == 1) == (not changed)
        assert state(example, idle) == pytest.approx(
            1 - len(truth_of(example).still.signatures) / len(truth_of(example).called)
        )


@pytest.mark.long
def test_an_order_that_changes_nothing_but_time_stamps_and_ids_is_as_good(chains: list[Example]) -> None:
    """In every order of the steps in which all succeed, equal rows mean an equal final state."""
    equal = 0
    for example in chains[:40]:
        for order in permutations(range(len(example.steps))):
            calls = [one for at in order for one in example.steps[at].calls]
            rollout = made(replace(example, candidates=tuple(TOOLS)), *calls)
            if len(list_successful_calls(rollout.calls)) < len(calls):
                continue
            rows = still_rows(example, calls) == still_rows(example, list_successful_calls(oracle(example).calls))
            assert (final_state(example, rollout) == 1) >= rows
            equal += rollout.digest != example.digests[-1] and final_state(example, rollout) == 1
    assert equal > 3, "the worlds must differ in time stamps at least"


def still_rows(example: Example, calls: Calls) -> dict[str, str]:
    return {name: one.tables_digest() for name, one in run_still(example.world, calls).items()}


def test_ids_made_in_another_order_do_not_count_and_are_followed_where_they_lead() -> None:
    first, second, invited = draft("A"), draft("B"), call("send_draft", draft=after(draft("A"))[0]["id"])
    example = example_of(first, second, invited)
    early = draft("A", "Dear all,")
    twin = after(early)[0]["id"]
    corrected = call("update_draft", draft=twin, body="Hello to you all.")
    other = made(example, second, early, corrected, call("send_draft", draft=twin))
    assert twin != after(first)[0]["id"]
    assert final_state(example, other) == 1
    assert final_state(example, made(example, first, second)) == 0
    swapped = call("send_draft", draft=after(second)[0]["id"])
    assert final_state(example, made(example, first, second, swapped)) == 0, "the other draft was sent"


def test_a_reference_to_a_new_row_counts_and_not_only_how_many_there_are() -> None:
    """Two events with a guest each differ from one event with both guests."""
    start = f"{opened().now.date():%Y-%m-%d}"
    one, two = (
        call("create_event", calendar=CALENDAR, title=f"Talk {at}", start=f"{start}T{at}:00:00Z", duration=30)
        for at in (20, 21)
    )
    ids = [after(event)[0]["id"] for event in (one, two)]
    each = [call("invite_attendee", event=id, attendee=PERSON) for id in ids]
    both = [call("invite_attendee", event=ids[0], attendee=person) for person in (PERSON, OTHER)]
    example = example_of(one, two, *each)
    assert final_state(example, made(example, two, one, *each[::-1])) == 1
    assert final_state(example, made(example, one, two, *both)) == 0


def test_what_is_done_and_undone_is_not_done_and_looking_changes_nothing() -> None:
    add = call("add_payee", name="Ana", iban=IBANS[0])
    example, id = example_of(draft("A")), after(add)[0]["id"]
    undone = (add, call("remove_payee", payee=id), draft("A"), call("list_accounts"))
    assert final_state(example, made(example, *undone)) == 1
    left = made(example, add, draft("A"))
    assert final_state(example, left) == 0
    assert state(example, left) == 0.5, "the mailbox is right, the bank was touched"


def test_a_server_that_is_looked_at_is_involved() -> None:
    example = example_of(call("list_accounts"), draft("A"))
    assert state(example, made(example)) == 0.5
    assert state(example, made(example, draft("B"))) == 0.5
    assert state(example, made(example, call("add_payee", name="Ana", iban=IBANS[0]))) == 0


def test_where_the_ground_truth_only_looks_nothing_needs_to_be_done_and_nothing_may() -> None:
    example = example_of(call("list_accounts"))
    assert final_state(example, made(example)) == 1
    assert final_state(example, made(example, draft("A"))) == 0


def test_a_refused_call_leaves_no_trace() -> None:
    example = example_of(draft("A"))
    refused = [call("send_draft", draft="DRF-none"), call("create_draft", to=PERSON), call("no_such_tool")]
    assert final_state(example, made(example, *refused, draft("A"))) == 1


def needs_the_clock() -> tuple[WorldRef, list[ToolCall]]:
    """Return calls of a random walk with a car that fail while the clock stands still, since a drive takes time."""
    for number in range(40):
        where = WorldRef(100 + number, ("vehicle",), "small")
        session = SERVERS["vehicle"].open(where.seed, where.size)
        walker = Walker(SERVERS["vehicle"].tools, [session.state], "clock", number)
        steps = [walker.walk(session) for _ in range(25)]
        calls = [ToolCall(one.tool, json.loads(one.arguments)) for one in steps if one.reply and one.reply.ok]
        try:
            outcome(where, calls)
        except Unreplayable:
            return where, calls
    raise AssertionError("no walk needs the clock")


def test_where_a_write_needs_the_clock_to_move_states_are_compared_as_they_were() -> None:
    where, calls = needs_the_clock()
    writes = [one for one in calls if TOOLS[one.name][1].writes]
    with pytest.raises(Unreplayable, match="was accepted in a rollout and fails on replay"):
        outcome(where, writes)
    example = example_of(*writes, where=where)
    assert truth_of(example).still is None
    again = made(example, *writes)
    assert final_state(example, again) == final_state(example, replace(again, digest="")) == 1
    assert final_state(example, made(example, *writes[:-1])) == 0
    short = example_of(writes[0], where=where)
    assert truth_of(short).still is not None and final_state(short, made(short, *writes)) == 0


def test_writes_made_again_end_in_the_very_world_they_ended_in(chains: list[Example]) -> None:
    for example in chains[:40]:
        rollout = made(example, *(one for step in reversed(example.steps) for one in step.calls))
        states = run_ticking(example.world, list_successful_calls(rollout.calls))
        tables = ";".join(f"{name}={states[name].tables_digest()}" for name in sorted(states))
        live = Attempt(example)
        for made_ in rollout.calls:
            live.answer(write_calls([made_.call]))
        assert live.world is not None
        sessions = live.world.sessions
        assert tables == ";".join(f"{name}={sessions[name].state.tables_digest()}" for name in sorted(sessions))


@cache
def walked(server: str, number: int) -> Any:
    """Return a session after a random walk."""
    session = SERVERS[server].open(40 + number, "small")
    walker = Walker(SERVERS[server].tools, [session.state], "renaming", server, number)
    for _ in range(60):
        walker.walk(session)
    return session


def renamed(server: str, number: int, names: Callable[[str], str]) -> Any:
    """Return the changes of a walk, with each new id under another name wherever it occurs."""
    session = walked(server, number)
    tables, changes = session.state.tables(), session.state.changes_since(session.get_step(0).state)
    new = collect_new_ids(changes)

    def other(id: str) -> str:
        return ID.sub(lambda found: names(found[1]) if found[1] in new else found[1], id)

    return {
        table: {
            other(id): (before, after and again(tables[table].about.kind, after, other))
            for id, (before, after) in rows.items()
        }
        for table, rows in changes.items()
    }


def again(kind: Any, row: Any, other: Callable[[str], str]) -> Any:
    return adapter(kind).validate_json(other(adapter(kind).dump_json(row).decode()))


@pytest.mark.parametrize("server", SERVERS)
def test_new_ids_under_other_names_change_no_signature_on_any_server(server: str) -> None:
    for number in range(2):
        session = walked(server, number)
        tables, changes = session.state.tables(), session.state.changes_since(session.get_step(0).state)
        assert changes, "the walk must write"
        here = signature(tables, changes)
        shuffled = Draw("names", server, number).shuffle_items(sorted(collect_new_ids(changes)))
        names = dict(zip(sorted(collect_new_ids(changes)), shuffled, strict=True))
        new_ids = {id: id.split("-")[0] + "-" + name.split("-")[1] + "00" for id, name in names.items()}
        assert signature(tables, renamed(server, number, new_ids.__getitem__)) == here
        assert signature(tables, dict(reversed(changes.items()))) == here


@pytest.mark.parametrize("server", SERVERS)
def test_any_row_left_out_or_changed_changes_the_signature_on_any_server(server: str) -> None:
    session = walked(server, 0)
    tables, changes = session.state.tables(), session.state.changes_since(session.get_step(0).state)
    here = signature(tables, changes)
    for table, rows in changes.items():
        for id, (before, row) in rows.items():
            less = {**changes, table: {key: pair for key, pair in rows.items() if key != id}}
            assert signature(tables, less) != here
            if row is not None and before is not None:
                gone = {**changes, table: {**rows, id: (before, None)}}
                assert signature(tables, gone) != here


# Five drafts, all alike, each with the number of an earlier one that its text names, or its own where it names none.
forests = st.tuples(*(st.integers(0, node) for node in range(5)))


@settings(max_examples=80, deadline=None)
@given(forests, forests)
def test_new_rows_that_refer_to_each_other_are_equal_exactly_when_a_renaming_makes_them_so(
    these: tuple[int, ...], those: tuple[int, ...]
) -> None:
    renamings = ({p[node]: p[earlier] for node, earlier in enumerate(these)} for p in permutations(range(5)))
    assert (drafts_named(these) == drafts_named(those)) == any(one == dict(enumerate(those)) for one in renamings)


@given(forests, st.permutations(range(5)))
def test_drafts_under_other_numbers_are_the_same(these: tuple[int, ...], order: list[int]) -> None:
    turned = {order[node]: order[earlier] for node, earlier in enumerate(these)}
    assert drafts_named(these) == drafts_named([turned[node] for node in range(5)])


@cache
def mailbox() -> Any:
    return SERVERS["email"].open(7, "small").state.tables()


def drafts_named(earlier: Sequence[int]) -> str:
    kind = mailbox()["drafts"].about.kind
    bodies = [f"As in DRF-{other}." if other != node else "" for node, other in enumerate(earlier)]
    rows = {f"DRF-{node}": (None, kind(id=f"DRF-{node}", subject="", body=body)) for node, body in enumerate(bodies)}
    return signature(mailbox(), {"drafts": rows})


def test_a_new_id_of_another_server_is_compared_there() -> None:
    kind = mailbox()["drafts"].about.kind
    one, other = (
        {"drafts": {"DRF-1": (None, kind(id="DRF-1", subject="A", body=f"See {id}."))}} for id in ("EVT-5", "EVT-6")
    )
    assert signature(mailbox(), one, {"EVT-5"}) == signature(mailbox(), other, {"EVT-6"})
    assert signature(mailbox(), one) != signature(mailbox(), other)


def test_every_generated_id_has_the_form_that_is_followed() -> None:
    for server in SERVERS.values():
        for table in server.open(7, "small").state.tables().values():
            generated = [row.id for row in table if re.fullmatch(rf"{table.prefix}-\d+", row.id)]
            assert not table.prefix or not len(table) or all(map(ID.fullmatch, generated))


def test_outcomes_that_agree_nowhere_share_nothing() -> None:
    one = outcome(WORLD, [draft("A")])
    assert share(one, one, frozenset()) == 1 and share(one, outcome(WORLD, []), frozenset()) == 0
    assert share(outcome(WORLD, []), outcome(WORLD, []), frozenset()) == 1
