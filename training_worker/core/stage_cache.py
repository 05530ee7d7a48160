"""Cached stages: each stores its results in its own folder and is not run again for the same inputs."""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]
# the folders that graphs and conversations come from
SYNTHESIS = ("core", "chat", "graph", "dataflow", "reward", "environment", "endpoint", "synthesis", "datasets")
DONE, STARTED = "done.json", "started.json"
Summary = dict[str, Any]


class StageFailed(Exception):
    """A stage that failed; the message says what is wrong and what to do."""


@dataclass(frozen=True)
class Outcome:
    """The result of a stage: its folder, its summary, the key that later stages build on, and whether it was cached."""

    folder: Path
    summary: Summary
    key: str
    cached: bool
    changed: str = ""


def run_stage(folder: Path, inputs: Summary, work: Callable[[Path], Summary]) -> Outcome:
    """Run `work` in the folder unless it is done for these inputs.

    Interrupted work finds its folder again and can resume; work for other inputs finds it empty. The folder counts as
    done only after `work` has returned, so a crash never leaves a partial result that looks complete.
    """
    key = blake2b(json.dumps(inputs, sort_keys=True).encode(), digest_size=8).hexdigest()
    done = read(folder / DONE)
    if done.get("key") == key:
        return Outcome(folder, done["summary"], key, cached=True)
    started = read(folder / STARTED)
    if started.get("key") != key:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / STARTED, {"key": key, "inputs": inputs})
    summary = work(folder)
    write(folder / DONE, {"key": key, "inputs": inputs, "summary": summary})
    changed = ", ".join(name for name in inputs if started and started["inputs"].get(name) != inputs[name])
    return Outcome(folder, summary, key, cached=False, changed=changed)


def read(path: Path) -> Summary:
    """Read a JSON object from a file; empty if there is none or it is truncated."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write(path: Path, value: Summary) -> None:
    """Write a JSON object; the file appears complete or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(value, ensure_ascii=False, indent=1), "utf-8")
    partial.replace(path)


def code_digest() -> str:
    """Return a digest of the code that graphs and conversations come from: other code may make others."""
    digest = blake2b(digest_size=8)
    for path in sorted(path for name in SYNTHESIS for path in (PACKAGE / name).rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Lock the folder, so that two runs do not overwrite each other. Raises StageFailed if another holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StageFailed(f"Another run is using {folder}. Wait for it, or set --data to another folder.") from None
        yield
