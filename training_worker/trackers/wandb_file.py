"""Content of one file `run-ID.wandb`, a log of records with checksums, read by Weights & Biases' own reader."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from math import isfinite, nan
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError
from wandb.proto import wandb_internal_pb2
from wandb.sdk.internal.datastore import (
    LEVELDBLOG_BLOCK_LEN,
    LEVELDBLOG_FIRST,
    LEVELDBLOG_FULL,
    LEVELDBLOG_HEADER_LEN,
    LEVELDBLOG_LAST,
    LEVELDBLOG_MIDDLE,
    DataStore,
)

from .tracked_run import NotRead, Value

KIND = "_type"  # key of values that wandb calls media: a picture, a table, a histogram
HIDDEN = "_"  # prefix of wandb's own metrics
WRAPPED = {"value", "desc"}  # keys in which older versions wrap a setting
Piece = tuple[int, bytes]  # which part of a record it is, and its content
FOREIGN = "It is not a Weights & Biases run, or is damaged at its start."


@dataclass
class History:
    """Numbers by row, and how often each non-number was logged. `step_of` maps metrics to their step metrics."""

    rows: list[tuple[int, float, dict[str, float]]] = field(default_factory=list)  # step, seconds since 1970, numbers
    left_out: Counter[str] = field(default_factory=Counter)
    step_of: dict[str, str] = field(default_factory=dict)

    def add(self, items: Any, began: float, number: int) -> None:
        values = {path_of(item): parse_json_value(item.value_json) for item in items}
        media = {path[:-1] for path in values if len(path) > 1 and path[-1] == KIND}
        found: dict[str, float] = {}
        odd: set[str] = set()
        for path, value in values.items():
            media_path = next((path[:at] for at in range(1, len(path)) if path[:at] in media), path)
            if media_path == path and isinstance(value, int | float) and not isinstance(value, bool):
                found[".".join(path)] = float(value)
            elif value is not None:
                odd.add(".".join(media_path))
        self.left_out.update(odd)
        spent, at = found.pop("_runtime", 0.0), found.pop("_timestamp", nan)
        time = at if isfinite(at) else began + (spent if isfinite(spent) else 0.0)
        self.rows.append((int(found.pop("_step", number)), time, found))

    @property
    def names(self) -> list[str]:
        steps = set(self.step_of.values())
        return [name for name in dict.fromkeys(name for *_, row in self.rows for name in row) if name not in steps]

    @property
    def tops(self) -> set[str]:
        """The names that the summary repeats."""
        return {*self.left_out, *(name for *_, row in self.rows for name in row)}

    def values(self) -> Iterator[Value]:
        """Yield each value by the step metric that the run defines for it, or else by the row's own step."""
        chosen = {name: self.step_by(name) for name in self.names}
        for step, time, row in self.rows:
            for name in row:
                if name in chosen:
                    by = row.get(chosen[name], step)
                    yield name, int(by) if isfinite(by) else step, time, row[name]

    def step_by(self, name: str) -> str:
        return next((by for glob, by in self.step_of.items() if glob == name or fnmatchcase(name, glob)), "")


@dataclass
class WandbRun:
    """Content of one file. `exit_code` is None if the file has none; `damaged` says what was lost."""

    id: str = ""
    name: str = ""
    notes: str = ""
    tags: tuple[str, ...] = ()
    began: float = 0.0
    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    history: History = field(default_factory=History)
    exit_code: int | None = None
    damaged: str = ""

    def learn(self, record: Any) -> None:
        kind = record.WhichOneof("record_type")
        if kind == "run":
            run = record.run
            self.id, self.name, self.notes, self.tags = run.run_id, run.display_name, run.notes, tuple(run.tags)
            self.began = run.start_time.seconds + run.start_time.nanos / 1e9
            change(self.config, run.config)
            change(self.summary, run.summary)
        elif kind in ("config", "summary"):
            change(getattr(self, kind), getattr(record, kind))
        elif kind == "history":
            self.history.add(record.history.item, self.began, record.history.step.num)
        elif kind == "metric" and record.metric.step_metric:
            self.history.step_of[record.metric.name or record.metric.glob_name] = record.metric.step_metric
        elif kind == "exit":
            self.exit_code = record.exit.exit_code


def run_in(file: Path) -> WandbRun:
    """Read all intact records of a file. Raises NotRead if there are none."""
    known, count, lost = WandbRun(), 0, 0
    for data in records(file):
        try:
            known.learn(wandb_internal_pb2.Record.FromString(data or b"\xff"))  # type: ignore[attr-defined]
            count += 1
        except (DecodeError, ValueError, OverflowError, RecursionError):
            lost += 1
    if not known.id and not known.history.rows:
        raise NotRead(FOREIGN)
    if lost:
        known.damaged = f"The file is damaged or was cut short: {count:,} records were read, and some are lost."
    known.config = unwrap_config(known.config)
    known.summary = {
        name: value
        for name, value in known.summary.items()
        if not name.startswith(HIDDEN) and isinstance(value, str | int | float)
    }
    return known


def records(file: Path) -> Iterator[bytes | None]:
    """Yield the content of each record; None for a damaged one, after which the next block is read. Raises NotRead."""
    store = DataStore()
    try:
        begin(store, file)
        yield from join_pieces(pieces(store, file.stat().st_size))
    finally:
        store.close()


def begin(store: Any, file: Path) -> None:
    try:
        store.open_for_scan(str(file))
    except OSError as error:
        raise NotRead(f"It cannot be opened for reading and writing, as its reader needs: {error.strerror}.") from None
    except Exception:  # the reader raises no more specific error
        raise NotRead(FOREIGN) from None


def pieces(store: Any, size: int) -> Iterator[Piece | None]:
    """Yield the pieces of records in the blocks of the file, and None for the unreadable rest of a block."""
    while (place := store.get_offset()) < size:
        left = LEVELDBLOG_BLOCK_LEN - place % LEVELDBLOG_BLOCK_LEN
        if left < LEVELDBLOG_HEADER_LEN:
            store.seek(place + left)
            continue
        try:
            piece = store.scan_record()
        except (AssertionError, IndexError):
            piece = (0, b"")
        if piece is None:
            return
        if piece[0] not in (LEVELDBLOG_FULL, LEVELDBLOG_FIRST, LEVELDBLOG_MIDDLE, LEVELDBLOG_LAST):
            yield None
            store.seek(place + left)
            continue
        yield piece


def join_pieces(found: Iterator[Piece | None]) -> Iterator[bytes | None]:
    """Join pieces into records."""
    begun: list[bytes] | None = None
    for piece in found:
        kind, data = piece or (0, b"")
        if begun is not None and kind in (LEVELDBLOG_MIDDLE, LEVELDBLOG_LAST):
            begun.append(data)
            if kind == LEVELDBLOG_LAST:
                yield b"".join(begun)
                begun = None
            continue
        if begun is not None or kind not in (LEVELDBLOG_FULL, LEVELDBLOG_FIRST):
            yield None
        begun = [data] if kind == LEVELDBLOG_FIRST else None
        if kind == LEVELDBLOG_FULL:
            yield data
    if begun is not None:
        yield None


def change(target: dict[str, Any], changes: Any) -> None:
    """Apply updates and removals in place."""
    for item in changes.update:
        *parents, last = path_of(item)
        place = target
        for parent in parents:
            below = place.get(parent)
            place[parent] = place = below if isinstance(below, dict) else {}
        place[last] = finite(parse_json_value(item.value_json))
    for item in changes.remove:
        target.pop(path_of(item)[0], None)


def path_of(item: Any) -> tuple[str, ...]:
    return tuple(item.nested_key) or (item.key,)


def parse_json_value(text: str) -> Any:
    """Return the JSON value of a text, or the text itself if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def finite(value: Any) -> Any:
    """Return a value as JSON can hold it: NaN and infinity become strings."""
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [finite(one) for one in value]
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def unwrap_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return the settings without wandb's own, unwrapped if all of them are {"value": …}."""
    found = {name: value for name, value in config.items() if name != "_wandb"}
    if found and all(isinstance(one, dict) and "value" in one and one.keys() <= WRAPPED for one in found.values()):
        return {name: value["value"] for name, value in found.items()}
    return found
