"""Extension points of jobs: what the apps above it do with events and finished jobs, and the topics of sockets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.dispatch import Signal

events_stored = Signal()  # in the transaction that stores them: `job` and its new `events`
events_committed = Signal()  # after it: `job` and its new `events`
job_succeeded = Signal()  # on the queue `web`: `job`, the id of a job that is done
reconciled = Signal()  # on each reconciliation pass, after that of the jobs
metric_kinds: set[str] = set()  # event kinds whose data are metrics, of which not all values are finite
stored_elsewhere: set[tuple[str, str]] = set()  # (event kind, key) of data that other tables hold


@dataclass(frozen=True)
class Topic:
    """A kind of object that sockets follow besides jobs and projects.

    `owner` is the lookup of the object from its organisation, `parents` those of objects that must not be deleted.
    `state` returns what is sent, None if the object no longer exists; `hidden_from` the users who may not follow it.
    """

    owner: str
    state: Callable[[str], dict[str, Any] | None]
    parents: tuple[str, ...] = ()
    hidden_from: Callable[[str, Iterable[int]], set[int]] | None = None


topics: dict[str, Topic] = {}
