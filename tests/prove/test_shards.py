"""Shards: every process makes the same one; none is made twice without need, and no kill loses one."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import networkx as nx
import psutil
import pytest

from training_worker.core.stage_cache import StageFailed
from training_worker.graph.dependency_graph import part
from training_worker.synthesis.conversation import Recipe
from training_worker.synthesis.shards import SIZE, Draws, Result, Shard, Task, in_shards, open_shard_folder
from training_worker.synthesis.worker_pool import Crew

TASKS: list[Task] = [(index, None, None) for index in range(3 * SIZE + 5)]


@pytest.fixture(scope="module")
def draws(graph: nx.DiGraph) -> Draws:
    return Draws(graph, Recipe(), "train")


@pytest.fixture(scope="module")
def folder(draws: Draws, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of all shards of the tasks."""
    folder = tmp_path_factory.mktemp("shards")
    for shard in in_shards(TASKS, draws, folder):
        shard.make(draws)
    return folder


@pytest.fixture(scope="module")
def expected(draws: Draws, folder: Path) -> list[Result]:
    return [drawn for shard in in_shards(TASKS, draws, folder) for drawn in shard.read() or []]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}


def silent(fresh: Sequence[Result]) -> None:
    pass


def test_a_shard_holds_what_its_draws_give(draws: Draws, expected: list[Result]) -> None:
    assert len(expected) == len(TASKS)
    assert draws.make(TASKS[:3]) == expected[:3]


def test_a_shard_made_twice_has_the_same_bytes(draws: Draws, folder: Path, tmp_path: Path) -> None:
    shard = in_shards(TASKS, draws, tmp_path)[-1]
    for _ in range(2):
        shard.make(draws)
        assert contents(tmp_path) == {shard.path.name: contents(folder)[shard.path.name]}


def test_a_name_says_what_a_shard_depends_on(draws: Draws, tmp_path: Path) -> None:
    others = [
        (draws, TASKS[:1]),
        (draws, TASKS[:2]),
        (draws, [(0, "chain", None)]),
        (draws, [(0, None, "list_cards")]),
        (replace(draws, split="held_out"), TASKS[:1]),
        (replace(draws, recipe=Recipe(1)), TASKS[:1]),
        (replace(draws, graph=part(draws.graph, ["banking"])), TASKS[:1]),
    ]
    assert len({Shard.from_tasks(of, tasks, tmp_path) for of, tasks in others}) == len(others)
    assert Shard.from_tasks(draws, TASKS[:1], tmp_path) == Shard.from_tasks(replace(draws), TASKS[:1], tmp_path)


@pytest.mark.parametrize("left", [b"", b'{"example":null', b'{"example":null,"dropped":[]}\n', b"\xff\n"])
def test_a_torn_file_is_no_shard(draws: Draws, tmp_path: Path, left: bytes) -> None:
    shard = in_shards(TASKS, draws, tmp_path)[-1]
    shard.path.write_bytes(left)
    assert shard.read() is None and not shard.path.exists()


def test_what_is_there_is_not_made_again(draws: Draws, folder: Path, expected: list[Result], tmp_path: Path) -> None:
    first, *others = in_shards(TASKS, draws, folder)
    before = {shard.path: shard.path.stat() for shard in others}
    first.path.unlink()
    heard: list[int] = []
    with Crew(draws, folder, 1) as crew:
        assert crew.draw(TASKS, lambda fresh: heard.append(len(fresh))) == expected
    assert heard[0] == len(TASKS) - SIZE and sum(heard) == len(TASKS)
    assert {path: path.stat() for path in before} == before


def test_helpers_that_never_come_are_not_waited_for(draws: Draws, expected: list[Result], tmp_path: Path) -> None:
    requested: list[Shard] = []

    def ask(of: Draws, shard: Shard) -> bool:
        requested.append(shard)
        return True

    with Crew(draws, tmp_path, 1, ask) as crew:
        assert crew.draw(TASKS, silent) == expected
    assert len(requested) == len(set(requested)) == 3, "all but the one that was begun here"


def test_what_helpers_bring_is_taken(draws: Draws, folder: Path, expected: list[Result], tmp_path: Path) -> None:
    brought: dict[Path, tuple[int, int]] = {}

    def ask(of: Draws, shard: Shard) -> bool:
        shard.path.write_bytes((folder / shard.path.name).read_bytes())
        brought[shard.path] = written(shard.path)
        return True

    with Crew(draws, tmp_path, 1, ask) as crew:
        assert crew.draw(TASKS, silent) == expected
    assert len(brought) == 3 and {path: written(path) for path in brought} == brought


def written(path: Path) -> tuple[int, int]:
    """Return the inode of a file and the time of its last write."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


@pytest.mark.long
def test_a_process_that_is_killed_is_replaced(draws: Draws, folder: Path, tmp_path: Path) -> None:
    killed: list[int] = []

    def tell(fresh: Sequence[Result]) -> None:
        if fresh and not killed:
            killed.append(makers()[0])
            os.kill(killed[0], signal.SIGKILL)

    with Crew(draws, tmp_path, 2) as crew:
        crew.draw(TASKS, tell)
        assert killed[0] not in makers()
    assert contents(tmp_path) == contents(folder) and not makers()


def makers() -> list[int]:
    """Return the ids of the live processes of a pool."""
    return [
        child.pid
        for child in psutil.Process().children()
        if child.status() != psutil.STATUS_ZOMBIE and any("spawn_main" in word for word in child.cmdline())
    ]


@pytest.fixture
def room() -> Iterator[None]:
    """Restore the limit on file size after the test."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_without_room_leaves_nothing_half_written_and_work_goes_on_later(
    draws: Draws, folder: Path, expected: list[Result], tmp_path: Path, room: None
) -> None:
    counts: list[int] = []
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def tell(fresh: Sequence[Result]) -> None:
        counts.append(len(fresh))
        if fresh:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))

    with Crew(draws, tmp_path, 1) as crew, pytest.raises(OSError, match="File too large"):
        crew.draw(TASKS, tell)
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".jsonl"]
    with Crew(draws, tmp_path, 1) as crew:
        assert crew.draw(TASKS, silent) == expected
    assert contents(tmp_path) == contents(folder)


def test_shards_go_when_all_is_done_and_stay_when_it_is_broken_off(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    with pytest.raises(KeyboardInterrupt), open_shard_folder(folder):
        (folder / "one").touch()
        raise KeyboardInterrupt
    with open_shard_folder(folder):
        assert (folder / "one").exists()
        with pytest.raises(StageFailed), open_shard_folder(folder):
            pass
    assert list(tmp_path.iterdir()) == []
