"""Files of a run's stored rollouts, by step, and of the dataset they belong to; re-scoring reads both."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..core.trajectory import BadLine, Example, Rollout, UnreadableData, each_line, file_digest, read_lines
from .folder import step_name
from .steps import read_step, read_summaries

STEP = re.compile(r"step-(\d+)\.(jsonl|parquet)")


def files_of(path: Path) -> list[tuple[int, Path]]:
    """Return the rollout files of a run's folder, or of `rollouts` in it, by step.

    A single file is step 1 unless its name gives another step. Raises UnreadableData.
    """
    if path.is_file():
        found = STEP.fullmatch(path.name)
        return [(int(found[1]) if found else 1, path)]
    folder = path / "rollouts" if (path / "rollouts").is_dir() else path
    files = [(int(found[1]), file) for file in folder.glob("*") if (found := STEP.fullmatch(file.name))]
    if not files:
        raise UnreadableData(f"{path} has no rollouts: pass a run's folder, or a file such as {step_name(1)} in it.")
    return sorted(files)


def rollouts_in(file: Path) -> list[Rollout]:
    """Return the rollouts of one step, group after group. Raises UnreadableData naming the invalid line."""
    return list(read_step(file, transcripts=True) if file.suffix == ".parquet" else read_jsonl(file))


def groups_in(file: Path) -> list[int] | None:
    """Return the group of each rollout of a step, from 1; None if the file has no groups. Raises UnreadableData."""
    return [one.group for one in read_summaries(file)] if file.suffix == ".parquet" else None


def read_jsonl(file: Path) -> Iterator[Rollout]:
    for rollout in each_line(Rollout, file):
        if isinstance(rollout, BadLine):
            raise UnreadableData(f"{rollout} The file may be truncated: leave it out and pass the others one by one.")
        yield rollout


def examples_in(path: Path) -> dict[str, Example]:
    """Return a dataset's examples by id, of all splits of a folder or of one file. Raises UnreadableData, OSError."""
    files = (
        [path]
        if path.is_file()
        else [file for split in ("train", "held_out") if (file := path / f"{split}.jsonl").is_file()]
    )
    if not files:
        raise UnreadableData(f"{path} has no dataset: pass a dataset's folder or its train.jsonl.")
    return {example.id: example for file in files for example in read_lines(Example, file)}


def data_in(card: Path) -> str:
    """Return the hash of the dataset that a run's card names. Raises UnreadableData."""
    try:
        return str(json.loads(card.read_text(encoding="utf-8"))["data"])
    except (OSError, ValueError, KeyError, TypeError):
        raise UnreadableData(f"{card} is not a run's card: pass the dataset's folder with --data.") from None


def data_of(paths: Sequence[Path]) -> Path:
    """Return the dataset that the run of these paths was trained on, found in nearby folders by its hash.

    Raises UnreadableData if it is not found.
    """
    for path in paths:
        run = next((folder for folder in (path, *path.absolute().parents) if (folder / "run.json").is_file()), None)
        if run is not None:
            wanted = data_in(run / "run.json")
            home = run.absolute().parent
            near = [*sorted(home.glob("*/train.jsonl")), *sorted(home.parent.glob("*/out/train.jsonl"))]
            found = next((file for file in near if file_digest(file) == wanted), None)
            if found is not None:
                return found
    raise UnreadableData("The dataset of these rollouts was not found near them: pass its folder with --data.")
