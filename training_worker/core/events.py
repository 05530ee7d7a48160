"""Numbered events that a job reports while it works, in the order they happened.

An event belongs to one attempt of one job. Its number in that attempt counts from 1 without gaps, so that a duplicate
or late event does no harm.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args

Kind = Literal[
    "started", "progress", "step", "rollouts", "rewound", "held_out", "checkpoint", "storage", "items", "ended"
]
Ended = Literal["done", "stopped", "failed", "lost", "interrupted"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Event:
    """One event of a job's attempt. `at` is ISO 8601 in UTC; the fields of `data` depend on the kind.

    started: host, pid, device, environment (see jobs/environment.py), worker (its name) | progress: done, total (0
    when unknown), line, seconds_left (null when unknown), and for a dataset also kept (conversations) and dropped
    (reason -> trials) so far | step: step and the metrics of that step | rollouts: step, its file in the store (file,
    digest, bytes), the file of its tokens (tokens, tokens_digest; "" without), and groups (a summary of each, see
    store/folder.py) | rewound: step, after which all events are invalid | held_out: step and means over held-out worlds
    | checkpoint: step, bytes | storage: waiting (files that are not in the storage yet), error ("" for none) |
    items: of an evaluation, identity (benchmark, version, settings, model), folder (of its results, relative to the
    data folder) and finished items (each with item, category, passed, value, failure, steps, calls, tokens, seconds,
    line; each attempt reports all of them, items of earlier attempts first) | ended: state, error, result. `lost` (an
    attempt lost through no fault of the job) and `interrupted` (the worker was shut down) call for another attempt.
    """

    seq: int
    at: str
    kind: Kind
    data: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def get_timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
