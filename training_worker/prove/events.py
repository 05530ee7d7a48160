"""What a job reports while it works: numbered events, in the order they happened.

An event belongs to one attempt at one job and has a number there, from 1 without a gap, so that one told twice or late
does no harm.
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
    """One line of an attempt's events. `at` is ISO 8601 in UTC; what `data` holds depends on the kind.

    started: host, pid, device, environment (see jobs/environment.py), worker (its name) | progress: done, total (0
    when unknown), line, seconds_left (null when unknown), and of a data set also kept (conversations) and dropped
    (reason -> trials) so far | step: step and the metrics of that step | rollouts: step, its file in the store (file,
    digest, bytes), that of its tokens (tokens, tokens_digest; "" without), and groups (each in short, see
    store/folder.py) | rewound: step, after which all of these are void | held_out: step and means over held-out worlds
    | checkpoint: step, bytes | storage: waiting (files that are not in the storage yet), error ("" when it is well) |
    items: of an evaluation, identity (benchmark, version, settings, model), folder (of its results, relative to the
    data folder) and items that are finished (each with item, category, passed, value, failure, steps, calls, tokens,
    seconds, line; each attempt tells all of them, those from before first) | ended: state, error, result. After
    `lost`, for no fault of the job, another attempt should be made; so it should after `interrupted`, when the worker
    was shut down.
    """

    seq: int
    at: str
    kind: Kind
    data: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
