"""Streamed writing of a dataset's files, with one conversation in memory at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import IO

from ..core.trajectory import Example, Json, Split, dumps, file_digest, read_lines, write_lines
from .dataset_folder import MANIFEST, SPLITS
from .manifest import DrawCounts, Manifest, Part, content_digest, manifest, part


class Digests:
    """The running SHA-256 of each split's lines."""

    def __init__(self) -> None:
        self.lines = {split: hashlib.sha256() for split in SPLITS}
        self.counts = dict.fromkeys(SPLITS, 0)

    def add(self, split: Split, line: str) -> None:
        self.lines[split].update(line.encode())
        self.counts[split] += 1

    @property
    def content(self) -> str:
        """Return the content digest in the manifest of a dataset with these lines."""
        return content_digest({split: digest.hexdigest() for split, digest in self.lines.items()})


def write_streamed(
    folder: Path,
    name: str,
    settings: dict[str, Json],
    examples: Iterable[Example],
    dropped: Mapping[str, int],
    *,
    seed: int = 0,
    servers: str = "",
    teacher: str = "",
) -> Manifest:
    """Write each example to the file of its split, in order, and the manifest last; files are written atomically.

    `dropped` is read after the last example, so that the iterable may update it meanwhile. Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    paths = {split: folder / f"{split}.jsonl" for split in SPLITS}
    partial = {split: path.with_name(path.name + ".partial") for split, path in paths.items()}
    try:
        with ExitStack() as stack:
            files: dict[Split, IO[str]] = {
                split: stack.enter_context(path.open("w", encoding="utf-8")) for split, path in partial.items()
            }
            for example in examples:
                files[example.split].write(dumps(example) + "\n")
        for split, path in partial.items():
            path.replace(paths[split])
    finally:
        for path in partial.values():
            path.unlink(missing_ok=True)
    left = dict(sorted((why, count) for why, count in dropped.items() if count))
    parts = {}
    for split in SPLITS:
        mine = left if split == "train" else {}
        counted = part(read_lines(Example, paths[split]), file_digest(paths[split]), DrawCounts(drawn=0, dropped=mine))
        parts[split] = with_drawn(counted, sum(mine.values()))
    made = manifest(name, settings, seed, servers, parts, teacher)
    write_lines(folder / MANIFEST, [made])
    return made


def with_drawn(part: Part, left_out: int) -> Part:
    return replace(part, drawn=part.conversations + left_out)
