"""Worlds opened and used by many threads at once, as the web process does: the same as by one thread alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import _lru_cache_wrapper
from threading import Barrier
from typing import Any

import pytest
from record import record

from mcp_servers.catalogue import SERVERS
from mcp_servers.core.rng import Draw

THREADS = 8
FRESH = [*range(910_000, 910_003), 1_000_910_000]  # no other test opens these


@pytest.fixture(autouse=True)
def _threads_change_places_often() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def forget_worlds() -> None:
    """Empty every cache of the servers, as in a process that has not opened a world."""
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "mcp_servers"]
    for module in modules:
        for value in list(vars(module).values()):
            if isinstance(value, _lru_cache_wrapper):
                value.cache_clear()
    for server in SERVERS.values():
        server.opening.cache_clear()


def in_threads(work: Callable[[int], Any]) -> list[Any]:
    """What `work` returns for each thread's number; all threads begin together."""
    barrier = Barrier(THREADS)

    def begin(number: int) -> Any:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


def opened(number: int) -> dict[tuple[str, int], str]:
    """The digests of fresh worlds of every server, opened in an order of this number's own."""
    worlds = Draw("order", number).shuffle_items([(name, seed) for seed in FRESH for name in SERVERS])
    return {(name, seed): SERVERS[name].open(seed, "small").digest() for name, seed in worlds}


def test_worlds_opened_in_many_threads_at_once_are_those_that_one_thread_opens() -> None:
    forget_worlds()
    found = in_threads(opened)
    forget_worlds()
    alone = opened(0)
    assert {world for digests in found for world in alone if digests[world] != alone[world]} == set()


def test_forks_of_one_world_in_many_threads_answer_and_come_to_what_one_thread_does() -> None:
    for server in SERVERS.values():
        alone = record(server, FRESH[0], "small", 30)
        forget_worlds()
        origin = server.open(FRESH[0], "small")

        def replay(number: int, walked: Any = alone, origin: Any = origin) -> tuple[Any, str]:
            fork = origin.fork()
            return [fork.call(*call) for call in walked.calls], fork.digest()

        assert in_threads(replay) == [(alone.replies, alone.session.digest())] * THREADS, server.name


def test_many_threads_that_digest_and_copy_one_state_at_once_get_the_same_digest() -> None:
    server, wrong = SERVERS["banking"], set[str]()
    for attempt in range(40):
        state = server.open(FRESH[0], "small").state.draft(f"attempt {attempt}")
        for table in state.tables().values():
            for row in [*table][:30]:
                table.remove(row.id)
        expected = state.full_digest()

        def digest(number: int, state: Any = state) -> str:
            return str((state.draft() if number % 2 else state).digest())

        wrong |= {found for found in in_threads(digest) if found != expected}
    assert wrong == set()
