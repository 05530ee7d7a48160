"""Rows of a data set come into the database some at a time, and are seen only once all are there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from prove_web.accounts.models import Project, User
from prove_web.live.models import CURATE
from prove_web.trajectories import bulk_load
from prove_web.trajectories.bulk_load import SILENT, LoadTakeoverError, claim, clear, load
from prove_web.trajectories.live_hooks import LOAD_AGAIN, find_unloaded_jobs
from prove_web.trajectories.load_dataset import row
from prove_web.trajectories.models import Dataset, Trajectory
from prove_web.trajectories.search import search
from prove_web.trajectories.tasks import RemainingTimeEstimator, passes

from .examples import abstention, dataset_of

ROWS = 5


@pytest.fixture
def empty(project: Project, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.setattr(bulk_load, "COMMITTED", 2)
    return dataset_of(project)


def rows(dataset: Dataset, count: int = ROWS, then: Callable[[int], None] = lambda at: None) -> Iterator[Trajectory]:
    for at in range(count):
        then(at)
        yield row(dataset, replace(abstention(), id=f"row-{at}"))


def test_what_is_half_there_is_in_no_search_and_its_page_says_so(
    empty: Dataset, project: Project, victor: User, as_user: Callable[[User], Client]
) -> None:
    seen = []

    def look(at: int) -> None:
        page = as_user(victor).get(empty.get_absolute_url())
        seen.append((Trajectory.objects.count(), search(project, "").rows.count(), "loading them into" in page.text))

    load(empty, rows(empty, then=look), claim(empty))
    assert [there for there, _, _ in seen] == [0, 0, 2, 2, 4] and all(one[1:] == (0, True) for one in seen)
    assert search(project, "").rows.count() == ROWS
    assert as_user(victor).get(empty.get_absolute_url()).context["page"].count == ROWS


def test_of_two_who_load_one_does_and_what_is_loaded_is_left(empty: Dataset) -> None:
    mark = claim(empty)
    assert mark is not None and claim(empty) is None
    load(empty, rows(empty), mark)
    assert claim(empty) is None and empty.trajectories.count() == ROWS


def test_a_load_that_died_is_found_and_restarted(empty: Dataset) -> None:
    over = timezone.now() - LOAD_AGAIN - timedelta(seconds=1)
    type(empty.job).objects.filter(pk=empty.job_id).update(ended_at=over)
    assert [*find_unloaded_jobs()] == [empty.job]
    first = claim(empty)
    Trajectory.objects.bulk_create(rows(empty, 2))
    assert not find_unloaded_jobs().exists(), "it was heard of just now"
    Dataset.objects.update(loading_at=timezone.now() - SILENT - timedelta(seconds=1))
    assert [*find_unloaded_jobs()] == [empty.job]
    load(empty, rows(empty), claim(empty))
    assert empty.trajectories.count() == ROWS and not find_unloaded_jobs().exists()
    with pytest.raises(LoadTakeoverError):
        load(empty, rows(empty), first)


def test_what_breaks_on_the_way_leaves_nothing(empty: Dataset) -> None:
    def breaks(at: int) -> None:
        if at == ROWS - 1:
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        load(empty, rows(empty, then=breaks), claim(empty))
    empty.refresh_from_db()
    assert not Trajectory.objects.exists() and empty.loading_at is None


def test_many_rows_are_removed_a_part_at_a_time(empty: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_load, "REMOVED", 2)
    Trajectory.objects.bulk_create(rows(empty))
    other = dataset_of(empty.project, [abstention()])
    clear(empty)
    assert not empty.trajectories.exists() and other.trajectories.count() == 1


@given(st.integers(1, 3), st.integers(100, 400), st.floats(0.001, 2))
def test_the_time_that_is_left_is_that_of_all_passes(count: int, total: int, a_row: float) -> None:
    pace = RemainingTimeEstimator(count)
    for number in range(count):
        for done in range(0, total, 10):
            gone = number * total + done
            left = pace.estimate_seconds_left(done, total, f"pass {number}", gone * a_row)
            if gone >= total / 100:
                assert left == pytest.approx((count * total - gone) * a_row)
            else:
                assert left is None


def test_a_split_and_a_mix_read_their_rows_before_they_write_them() -> None:
    assert [passes({CURATE: {"how": how}}) for how in ("version", "collect", "split", "mix")] == [2, 2, 3, 3]
