"""Stages that remember: each keeps its results in a folder of its own and is not run again for the same inputs."""

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

DONE, STARTED = "done.json", "started.json"
Summary = dict[str, Any]


class StageFailed(Exception):
    """A stage did not hold; the message says what is the case and what to do."""


@dataclass(frozen=True)
class Outcome:
    """What a stage left: its folder, its summary, the key later stages build on, and whether it was there already."""

    folder: Path
    summary: Summary
    key: str
    kept: bool
    changed: str = ""


def run_stage(folder: Path, inputs: Summary, work: Callable[[Path], Summary]) -> Outcome:
    """Run `work` in the folder unless it is done for these inputs.

    Interrupted work finds its folder again, to go on; work for other inputs finds it empty. The folder counts as done
    only once `work` has returned, so a crash never leaves half a result that passes for a whole one.
    """
    key = blake2b(json.dumps(inputs, sort_keys=True).encode(), digest_size=8).hexdigest()
    done = read(folder / DONE)
    if done.get("key") == key:
        return Outcome(folder, done["summary"], key, kept=True)
    started = read(folder / STARTED)
    if started.get("key") != key:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / STARTED, {"key": key, "inputs": inputs})
    summary = work(folder)
    write(folder / DONE, {"key": key, "inputs": inputs, "summary": summary})
    changed = ", ".join(name for name in inputs if started and started["inputs"].get(name) != inputs[name])
    return Outcome(folder, summary, key, kept=False, changed=changed)


def read(path: Path) -> Summary:
    """A JSON object from a file; empty when there is none or it is torn."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write(path: Path, value: Summary) -> None:
    """Write a JSON object; the file appears whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(value, ensure_ascii=False, indent=1), "utf-8")
    partial.replace(path)


def code_digest(folder: Path) -> str:
    """Names the Python code of a folder: what it made under another name may differ."""
    digest = blake2b(digest_size=8)
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Hold the folder, so that two runs do not write over each other. Raises StageFailed when another holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StageFailed(
                f"Another run is at work in {folder}. Wait for it, or give --data another folder."
            ) from None
        yield
