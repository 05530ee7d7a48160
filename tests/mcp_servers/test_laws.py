"""Laws that hold for every server there is, on random walks in many worlds."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest
from library.tools import server as library
from mini import server as mini
from record import (
    HELD_OUT,
    SMALL,
    an_idempotent_call_twice_is_as_once,
    changes_once_more,
    invariants_hold,
    long_walks,
    reads_and_refusals_change_nothing,
    record,
    states_are_immutable,
    walks,
)
from schema_checks import arguments_are_taken, results_fit_their_schemas

from mcp_servers.catalogue import SERVERS

ALL = (*SERVERS.values(), mini, library)
LAWS = (invariants_hold, reads_and_refusals_change_nothing, states_are_immutable)
every_server = pytest.mark.parametrize("server", ALL, ids=lambda server: server.name)


@every_server
def test_the_laws_hold_on_every_walk(server):
    for walked in walks(server):
        for law in (*LAWS, an_idempotent_call_twice_is_as_once):
            law(walked)


@every_server
def test_every_result_fits_the_schema_that_clients_get_formats_too(server):
    fitted = [results_fit_their_schemas(session) for session in long_walks(server)]
    assert set().union(*fitted) == set(server.tools)


@every_server
def test_arguments_drawn_from_a_schema_alone_are_never_malformed(server):
    session = server.open(3, "small")
    for tool in server.tools.values():
        arguments_are_taken(session, tool)


@every_server
def test_a_write_that_is_not_marked_idempotent_is_not(server):
    """Seen on the walks: somewhere the same call once more changes a row."""
    seen = {name for name, tool in server.tools.items() if tool.idempotent}
    more = (record(server, seed, "small", 60, "more") for seed in range(40))
    for walked in chain(walks(server), more):
        if seen == set(server.tools):
            break
        for number, moment in enumerate(walked.moments, 1):
            if moment.reply.ok and moment.tool not in seen and changes_once_more(walked, number):
                seen.add(moment.tool)
    assert sorted(set(server.tools) - seen) == []


@every_server
@pytest.mark.long
def test_a_large_world_keeps_the_laws_too(server):
    walked = record(server, 3, "large", 6)
    for law in LAWS:
        law(walked)


@every_server
def test_a_fork_and_its_origin_know_nothing_of_each_other(server):
    for seed in SMALL[:4]:
        walked, other = record(server, seed, "small", 60), record(server, seed, "small", 60, "other")
        session = server.open(seed, "small")
        for name, arguments in walked.calls[:30]:
            session.call(name, arguments)
        fork, then = session.fork(), session.digest()
        for name, arguments in other.calls:
            fork.call(name, arguments)
        assert session.digest() == then == session.state.full_digest()
        assert [session.call(*call) for call in walked.calls[30:]] == walked.replies[30:]
        assert session.digest() == walked.session.digest()
        states_are_immutable(walked)
        states_are_immutable(other)


@every_server
def test_interleaved_sessions_equal_serial_ones(server):
    serial = [record(server, seed, "small", 60, key) for seed in SMALL[:4] for key in ("", "other")]
    sessions = [server.open(walked.seed, "small") for walked in serial]
    for number in range(60):
        for walked, session in zip(serial, sessions, strict=True):
            assert session.call(*walked.calls[number]) == walked.replies[number]
    assert [session.digest() for session in sessions] == [walked.session.digest() for walked in serial]


@every_server
def test_reset_goes_back_to_any_step_and_the_same_calls_lead_on_from_there(server):
    walked = record(server, 5, "small", 60)
    session = walked.session.fork()
    for number in (60, 31, 7, 0):
        session.reset(number)
        assert session.digest() == ([walked.opening, *(moment.after for moment in walked.moments)])[number]
        assert len(session.history()) == number + 1
    session.reset()
    assert [session.call(*call) for call in walked.calls] == walked.replies
    with pytest.raises(IndexError, match="steps 0 to 60, not 61"):
        session.reset(61)


@every_server
def test_a_diff_is_what_comparing_all_rows_of_two_steps_finds(server):
    session = record(server, 2, "small", 60).session
    for before, after in [(0, 60), (10, 50), (50, 10), (17, 18), (33, 33), (60, 0)]:
        old, new = session.get_step(before).state.tables(), session.get_step(after).state.tables()
        expected = {}
        for name in new:
            then, now = ({row.id: row for row in tables[name]} for tables in (old, new))
            changed = {id: (then.get(id), now.get(id)) for id in then | now if then.get(id) != now.get(id)}
            if changed:
                expected[name] = changed
        assert session.diff(before, after) == expected
    assert session.diff(0, 60)


@every_server
def test_a_write_that_succeeded_moves_the_clock_and_nothing_else_does(server):
    for number, step in enumerate(record(server, 1, "small", 60).session.history()[1:], 1):
        moved = step.state.now != step.previous.state.now
        assert moved == (step.reply.ok and server.tools[step.tool].writes), f"step {number}, {step.tool}"


@every_server
def test_one_seed_is_one_world_and_another_seed_another(server):
    for size, count in (("small", 8), ("default", 2)):
        seeds = [*range(count), *range(HELD_OUT, HELD_OUT + count)]
        digests = [server.seed(seed, size).settle().full_digest() for seed in seeds]
        assert digests == [server.open(seed, size).digest() for seed in seeds]
        assert len(set(digests)) == len(seeds)


@every_server
def test_the_same_call_gives_the_same_id_whatever_was_called_before(server):
    compared = 0
    for seed in SMALL[:6]:
        walked = record(server, seed, "small", 60)
        for number, moment in enumerate(walked.moments, 1):
            made = new_ids(walked.session.diff(number - 1, number))
            if made:
                session = walked.session.fork()
                session.reset(number - 1)
                unrelated = [call for call in walked.calls if call[0] != moment.tool and session.fork().call(*call).ok]
                for call in unrelated[:8]:
                    session.call(*call)
                if session.call(moment.tool, moment.arguments).ok:
                    again = new_ids(session.diff(session.head.number - 1, session.head.number))
                    assert again == made, f"seed {seed}, step {number}, {moment.tool}"
                    compared += 1
    assert compared > 5


def new_ids(diff: dict[str, dict[str, Any]]) -> set[str]:
    """The ids of rows that a change added."""
    return {id for rows in diff.values() for id, (before, _) in rows.items() if before is None}
