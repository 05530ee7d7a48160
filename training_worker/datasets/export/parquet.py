"""Dataset export as Parquet: columns to filter by, messages and tools as trainers take them, and the full record.

Values whose structure differs between rows (arguments, schemas) are JSON text with the JSON type, which `datasets`
returns as objects. The column `record` is the line of the JSONL file, so the export is lossless.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from ...chat.messages import chat_messages
from ...chat.schemas import get_tool_schemas
from ...core.trajectory import Example, UnreadableData, dumps, loads

T = TypeVar("T")
BATCH = 500  # rows at a time, in memory and as a row group


def schema(json_text: pa.DataType) -> pa.Schema:
    """Return the columns; `json_text` is the type of the JSON columns."""
    function = pa.struct([("name", pa.string()), ("arguments", json_text)])
    call = pa.struct([("id", pa.string()), ("type", pa.string()), ("function", function)])
    message = pa.struct(
        [
            ("role", pa.string()),
            ("content", pa.string()),
            ("tool_calls", pa.list_(call)),
            ("tool_call_id", pa.string()),
        ]
    )
    return pa.schema(
        [
            ("id", pa.string()),
            ("kind", pa.string()),
            ("messages", pa.list_(message)),
            ("tools", json_text),
            ("servers", pa.list_(pa.string())),
            ("seed", pa.int64()),
            ("steps", pa.int32()),
            ("level", pa.string()),
            ("persona", pa.string()),
            ("distractors", pa.int32()),
            ("enums_stripped", pa.bool_()),
            ("failures", pa.int32()),
            ("source", pa.string()),
            ("certified", pa.bool_()),
            ("record", pa.string()),
        ]
    )


PLAIN, TYPED = schema(pa.string()), schema(pa.json_(pa.string()))


def write_parquet(path: Path, examples: Iterable[Example]) -> None:
    """Write examples in batches; the file is written atomically.

    Raises KeyError for a tool that no longer exists.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        with pq.ParquetWriter(partial, TYPED, compression="zstd") as writer:
            for batch in batches(examples):
                rows = pa.RecordBatch.from_pylist([row(example) for example in batch], schema=PLAIN)
                writer.write_batch(rows.cast(TYPED))  # pyarrow cannot create a nested JSON column from Python values
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def batches(examples: Iterable[T]) -> Iterator[list[T]]:
    left = iter(examples)
    while batch := list(islice(left, BATCH)):
        yield batch


def row(example: Example, tools: Sequence[dict[str, Any]] | None = None) -> dict[str, Any]:
    """Return the columns of an example; `tools` replaces the current tool schemas."""
    return {
        "id": example.id,
        "kind": example.kind,
        "messages": [with_json_arguments(message) for message in chat_messages(example)],
        "tools": json.dumps(get_tool_schemas(example) if tools is None else tools, ensure_ascii=False),
        "servers": list(example.world.servers),
        "seed": example.world.seed,
        "steps": len(example.steps),
        "level": example.level,
        "persona": example.persona,
        "distractors": example.distractors,
        "enums_stripped": example.enums_stripped,
        "failures": len(example.failures),
        "source": example.source,
        "certified": example.certified,
        "record": dumps(example),
    }


def with_json_arguments(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message whose calls have their arguments as JSON text."""
    if "tool_calls" not in message:
        return message
    calls = [
        {**call, "function": {**call["function"], "arguments": json.dumps(call["function"]["arguments"])}}
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}


def read_parquet(path: Path) -> Iterator[Example]:
    """Yield the examples of a file that `write_parquet` wrote, in order. Raises UnreadableData."""
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH, columns=["record"]):
                yield from (loads(Example, record) for record in batch.column("record").to_pylist())
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise UnreadableData(f"{path} is not a dataset's Parquet file: {str(error).splitlines()[0][:200]}") from None
