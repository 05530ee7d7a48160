"""Held-out worlds and training worlds have no id, full name or e-mail address in common."""

from __future__ import annotations

import re
from functools import cache

import pytest
from library.tools import server as library
from mini import server as mini

from mcp_servers.catalogue import SERVERS, TOOLS
from mcp_servers.core import Draw, Server, is_held_out, is_held_out_seed
from mcp_servers.core.phrases import load
from mcp_servers.core.state import adapter
from mcp_servers.shared.people import COMPANIES, FIRST, LAST, cast, get_start_time

ALL = (*SERVERS.values(), mini, library)
TRAINING = range(24)
HELD_OUT = range(1_000_000_000, 1_000_000_024)
ID = re.compile(r"\b[A-Z]{2,5}-\d{3,}\b")
EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
TWO_WORDS = re.compile(r"(?=\b([A-Z][a-z]+) ([A-Z][a-z]+)\b)")

every_server = pytest.mark.parametrize("server", ALL, ids=lambda server: server.name)


def marks(text: str) -> set[str]:
    """The ids, e-mail addresses and full names in a text."""
    names = {f"{first} {last}" for first, last in TWO_WORDS.findall(text) if first in FIRST and last in LAST}
    return {*ID.findall(text), *EMAIL.findall(text), *names}


@cache
def marks_of_world(server: Server, seed: int) -> set[str]:
    """Return the marks of a small world, in any field."""
    tables = server.seed(seed, "small").tables().values()
    return marks("\n".join(adapter(table.about.kind).dump_json(row).decode() for table in tables for row in table))


def marks_of(server: Server, seeds: range) -> set[str]:
    """Return the marks of the small worlds of these seeds."""
    return set().union(*(marks_of_world(server, seed) for seed in seeds))


@every_server
def test_training_and_held_out_worlds_share_no_id_name_or_address(server):
    assert marks_of(server, TRAINING) & marks_of(server, HELD_OUT) == set()
    assert len(marks_of(server, HELD_OUT)) > 70


@every_server
def test_every_full_name_and_id_is_on_the_side_of_its_world(server):
    for seeds in (TRAINING, HELD_OUT):
        for mark in marks_of(server, seeds):
            if "@" not in mark:
                assert is_held_out(mark) == is_held_out_seed(seeds[0]), mark


@every_server
def test_every_address_belongs_to_someone_of_the_cast_of_its_world(server):
    for seeds in (TRAINING, HELD_OUT):
        people = {person.id for seed in seeds for person in cast(seed, 40)}
        assert {mark for mark in marks_of(server, seeds) if "@" in mark} <= people


def test_no_schema_or_phrase_names_an_id_a_person_or_an_address():
    for _, tool in TOOLS.values():
        assert marks(f"{tool.input_schema}{tool.output_schema}{tool.description}") == set(), tool.name
    for server in SERVERS.values():
        assert marks(str(load(server.folder))) == set(), server.name


def test_one_world_has_one_cast_whose_members_are_distinguished_by_either_name():
    for seed in (*TRAINING, *HELD_OUT):
        people = cast(seed)
        assert len({part for person in people for part in person.name.split()}) == 20
        assert len({person.id for person in people}) == 10
        assert cast(seed, 30)[:10] == people
        assert all(person.id.endswith(tuple(f"@{domain}" for domain in COMPANIES)) for person in people)


def test_the_servers_of_a_world_begin_at_the_same_moment_on_a_weekday():
    for seed in (*TRAINING[:5], *HELD_OUT[:5]):
        assert {server.open(seed, "small").state.now for server in ALL} == {get_start_time(seed)}
    assert all(get_start_time(seed).weekday() < 5 and get_start_time(seed).hour == 9 for seed in (*TRAINING, *HELD_OUT))


def test_about_one_value_in_five_is_held_out():
    share = sum(is_held_out(f"ACC-{number:04}") for number in range(10_000)) / 10_000
    assert 0.18 < share < 0.22


def test_draws_are_the_same_on_every_python_and_differ_by_key():
    draw = Draw("banking", 7)
    assert [draw.integer(0, 999) for _ in range(5)] == [163, 755, 130, 509, 968]
    assert "".join(Draw("banking", 8).shuffle_items("abcdef")) == "abefcd"
    assert "".join(Draw("w", key).choose_weighted("xyz", (1, 2, 7)) for key in range(8)) == "yzzzzxzz"
