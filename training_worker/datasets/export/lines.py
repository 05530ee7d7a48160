"""Streamed exports of trajectories: one pass, one chunk at a time, with a digest at the end."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ...chat.schemas import get_tool_schemas
from ...core.stage_cache import code_digest
from ...core.trajectory import Example, dumps
from ..files import Digests
from ..rollout_dataset import DatasetRollout, messages_of
from .parquet import PLAIN, TYPED, batches, row, with_json_arguments

FORMAT = 1
MANIFEST = "manifest"  # key in the last line of our JSON Lines, and in the Parquet metadata
TRIGGERS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # full-width ones, too
One = Example | DatasetRollout


class RunningDigest:
    """The running digest of the export. Rollouts form one sequence, independent of their split."""

    def __init__(self) -> None:
        self.examples, self.attempts, self.collected = Digests(), sha256(), 0

    def add(self, one: One, line: str) -> None:
        if isinstance(one, DatasetRollout):
            self.attempts.update(line.encode())
            self.collected += 1
        else:
            self.examples.add(one.split, line)

    @property
    def content(self) -> str:
        return self.attempts.hexdigest() if self.collected else self.examples.content

    def manifest(self, about: Mapping[str, Any]) -> dict[str, Any]:
        """Return the manifest of what was sent; `about` describes the selection."""
        counts = {"rollouts": self.collected} if self.collected else dict(self.examples.counts)
        code = code_digest()
        return {MANIFEST: {"format": FORMAT, "content": self.content, "trajectories": counts, "code": code, **about}}


def jsonl(found: Iterable[One], about: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield our own JSON Lines, and a last line with their digest: without it, the file is truncated."""
    running = RunningDigest()
    for one in found:
        line = dumps(one) + "\n"
        running.add(one, line)
        yield line.encode()
    yield (json.dumps(running.manifest(about), ensure_ascii=False) + "\n").encode()


def openai(found: Iterable[One], about: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the OpenAI chat format: `messages` with tool calls whose arguments are JSON text, and `tools`."""
    for one in found:
        example, rollout = (one.example, one.rollout) if isinstance(one, DatasetRollout) else (one, None)
        messages = messages_of(example, rollout)
        for call in (call for message in messages for call in message.get("tool_calls", ())):
            call["function"]["arguments"] = json.dumps(call["function"]["arguments"], ensure_ascii=False)
        line = {"messages": messages, "tools": list(get_tools(example))}
        yield (json.dumps(line, ensure_ascii=False) + "\n").encode()


def get_tools(example: Example) -> tuple[dict[str, Any], ...]:
    """Return the tools of an example; none if one no longer exists."""
    try:
        return get_tool_schemas(example)
    except KeyError:
        return ()


class Outbox:
    """A write-only file object without seeking, whose content is taken out in chunks."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.size, self.closed = 0, False

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self.pieces.append(piece)
        self.size += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def take(self) -> bytes:
        piece, self.pieces = b"".join(self.pieces), []
        return piece


def parquet(found: Iterable[One], about: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield Parquet with the columns of parquet.py (rollouts also reward and split) and the manifest as metadata."""
    running, outbox = RunningDigest(), Outbox()
    writer: pq.ParquetWriter | None = None
    for batch in batches(found):
        if writer is None:  # the first row decides the columns of all; `record` has the complete row in any case
            plain, typed = schemas(batch[0])
            writer = pq.ParquetWriter(outbox, typed, compression="zstd")
        for one in batch:
            running.add(one, dumps(one) + "\n")
        rows = pa.RecordBatch.from_pylist([columns(one) for one in batch], schema=plain)
        writer.write_batch(rows.cast(typed))
        yield outbox.take()
    writer = writer or pq.ParquetWriter(outbox, TYPED, compression="zstd")
    writer.add_key_value_metadata({MANIFEST: json.dumps(running.manifest(about)[MANIFEST])})
    writer.close()
    yield outbox.take()


def schemas(one: One) -> tuple[pa.Schema, pa.Schema]:
    if not isinstance(one, DatasetRollout):
        return PLAIN, TYPED
    more = [pa.field("reward", pa.float64()), pa.field("split", pa.string())]
    return pa.schema([*PLAIN, *more]), pa.schema([*TYPED, *more])


def columns(one: One) -> dict[str, Any]:
    if not isinstance(one, DatasetRollout):
        return row(one, get_tools(one)) | {"split": one.split}
    found = row(one.example, get_tools(one.example)) | {"id": one.id, "record": dumps(one), "split": one.example.split}
    found["messages"] = [with_json_arguments(message) for message in messages_of(one.example, one.rollout)]
    return found | {"reward": one.rollout.reward.total if one.rollout.reward else None}


def table(names: Iterable[str], found: Iterable[Iterable[Any]]) -> Iterator[bytes]:
    """Yield CSV in which no cell is a spreadsheet formula."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    text.write("\ufeff")  # spreadsheets recognise UTF-8 by the byte order mark
    writer.writerow(names)
    for cells in found:
        writer.writerow(["" if cell is None else escape_formula(cell) for cell in cells])
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    yield text.getvalue().encode()


def escape_formula(cell: Any) -> Any:
    """Return a cell that a spreadsheet does not evaluate: text that it would run gets an apostrophe (OWASP)."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(TRIGGERS) else cell
