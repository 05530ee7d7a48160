"""Export formats of trajectories, exactly as a search found them, streamed from the database."""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models import QuerySet

from mcp_servers.catalogue import SERVERS, fingerprint
from prove_web.review.blinding import SCORES, Blind
from training_worker.core.trajectory import Example
from training_worker.datasets.export import lines
from training_worker.datasets.export.publish import publish
from training_worker.datasets.files import write_streamed
from training_worker.datasets.rollout_dataset import ROLLOUTS, DatasetRollout

from .models import Trajectory
from .row_selection import UNREADABLE, own_id
from .rows import build_exchange_form, extract_examples

TOGETHER = 200  # rows in memory at a time
CHUNK = 1 << 18
COLUMNS = (
    *("dataset__number", "example", "split", "kind", "steps", "servers", "tools", "query"),
    *SCORES,
)
About = Mapping[str, Any]


@dataclass(frozen=True)
class Format:
    """A file format; `make` yields the file in chunks, without what the user may not know yet."""

    name: str
    title: str
    description: str
    ending: str
    type: str
    make: Callable[[QuerySet, About, Blind], Iterator[bytes]]


def file_name(name: str, ending: str) -> str:
    """Return a file name that is safe for file systems, shells and pages."""
    safe = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60].strip("-")
    return f"{safe or 'trajectories'}{ending}"


def iter_examples(rows: QuerySet, left_out: Counter[str], blind: Blind) -> Iterator[Example | DatasetRollout]:
    """Yield the trajectories in their order of creation with unique ids; unreadable ones are counted."""
    ids = set[str]()
    for row in iter_rows(rows, blind):
        own_id(row, ids)  # the rows may be of several datasets
        if one := build_exchange_form(row):
            yield one
        else:
            left_out[UNREADABLE] += 1


def iter_rows(rows: QuerySet, blind: Blind) -> Iterator[Trajectory]:
    """Yield all rows in batches by key, so that no cursor stays open while a slow client reads.

    Rows that await the user's own review are without their reward.
    """
    left, last = rows.order_by("pk").defer(None), 0
    while part := list(left.filter(pk__gt=last)[:TOGETHER]):
        blind.cover(part)
        yield from part
        last = part[-1].pk


def jsonl(rows: QuerySet, about: About, blind: Blind) -> Iterator[bytes]:
    left_out = Counter[str]()
    return lines.jsonl(iter_examples(rows, left_out, blind), {**about, "left_out": left_out})


def openai(rows: QuerySet, about: About, blind: Blind) -> Iterator[bytes]:
    return lines.openai(iter_examples(rows, Counter(), blind), about)


def parquet(rows: QuerySet, about: About, blind: Blind) -> Iterator[bytes]:
    left_out = Counter[str]()
    return lines.parquet(iter_examples(rows, left_out, blind), {**about, "left_out": left_out})


def table(rows: QuerySet, about: About, blind: Blind) -> Iterator[bytes]:
    """Return a table of the list's columns, without the records."""
    return lines.table(["dataset", *COLUMNS[1:]], cells(rows, blind))


def cells(rows: QuerySet, blind: Blind) -> Iterator[tuple[Any, ...]]:
    left, last = rows.order_by("pk").values_list("pk", *COLUMNS), 0
    while part := list(left.filter(pk__gt=last)[: 10 * TOGETHER]):
        waiting, untold = blind.find_hidden_ids(row[0] for row in part), (None,) * len(SCORES)
        yield from (row[1 : -len(SCORES)] + untold if row[0] in waiting else row[1:] for row in part)
        last = part[-1][0]


def hugging_face(rows: QuerySet, about: About, blind: Blind) -> Iterator[bytes]:
    """Yield a zip of a folder for `datasets.load_dataset`: lines, Parquet, manifest, card and plots.

    Rollouts are lines of a file beside those of their examples.
    """
    with tempfile.TemporaryDirectory(prefix="export") as name:
        folder, left_out = Path(name), Counter[str]()
        examples = extract_examples(iter_examples(rows, left_out, blind), folder / ROLLOUTS)
        write_streamed(folder, "export", dict(about), examples, left_out, servers=fingerprint(tuple(SERVERS)))
        with suppress(KeyError):  # a removed tool has no schema to publish; the lines are complete
            publish(folder)
        outbox = lines.Outbox()
        with zipfile.ZipFile(outbox, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                with path.open("rb") as source, archive.open(str(path.relative_to(folder)), "w") as target:
                    while piece := source.read(CHUNK):
                        target.write(piece)
                        yield outbox.take()
        yield outbox.take()


FORMATS = {
    one.name: one
    for one in (
        Format(
            name="jsonl",
            title="JSON lines",
            description="Full records and a last line with the digest. Can be imported again.",
            ending=".jsonl",
            type="application/x-ndjson",
            make=jsonl,
        ),
        Format(
            name="parquet",
            title="Parquet",
            description="Columns to filter by, messages, tools and the full record.",
            ending=".parquet",
            type="application/vnd.apache.parquet",
            make=parquet,
        ),
        Format(
            name="huggingface",
            title="Hugging Face folder",
            description="Zip of both splits, card and plots, for datasets.load_dataset; rollouts in rollouts.jsonl.",
            ending=".zip",
            type="application/zip",
            make=hugging_face,
        ),
        Format(
            name="openai",
            title="OpenAI chat",
            description="Messages with tool calls, and tools, for fine-tuning.",
            ending=".openai.jsonl",
            type="application/x-ndjson",
            make=openai,
        ),
        Format(
            name="csv",
            title="CSV",
            description="One row per trajectory, without the conversations.",
            ending=".csv",
            type="text/csv; charset=utf-8",
            make=table,
        ),
    )
}
