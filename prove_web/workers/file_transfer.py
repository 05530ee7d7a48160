"""The files of a job that a machine far away needs, and those that it sends: which, and where they lie."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings

from prove_web.experiments.initial_policy import WARM
from prove_web.experiments.run_estimate import folder_of
from prove_web.live.models import Job, Kind
from training_worker.jobs.console import LOG
from training_worker.prove.benchmarks.registry import KNOWN
from training_worker.prove.benchmarks.results import IDENTITY, ITEMS, folders_of
from training_worker.prove.graph import graph_path
from training_worker.prove.models import BEST, OF_RUN, left_by
from training_worker.prove.store.inspection import is_rollouts, require_decodable
from training_worker.prove.trajectory import UnreadableData

PIECE = 4 << 20  # bytes sent at a time
PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}")
DEEPEST = 6
OUT, PARTIAL = "out", ".partial"
ADAPTER_CONFIG, GONE = "adapter_config.json", "policy-that-is-gone"
LARGEST_CONFIG = 1_000_000  # bytes
MOST_LAYERS = 16  # of adapters on top of each other
MOST_KEPT = 10  # folders of results of the same model on the same benchmark
SITE = ""  # in place of a job: the data folder itself


class NotTaken(ValueError):
    """A file or a piece that is not taken; the message says why."""


def needed(job: Job) -> Iterator[tuple[str, str]]:
    """Job and path of each file that doing the job takes: its data sets, its policy, and what it has done so far."""
    for other in (job.spec.get("dataset"), *options(job)):
        yield from listed(source(job, str(other or "")), OUT, deep=False)
    yield from policy(job)
    if job.kind == Kind.EVALUATE:
        yield from shared(job)
    yield from listed(job, OUT)


def options(job: Job) -> list[str]:
    """The data sets that an evaluation's options name."""
    known = KNOWN.get(str(job.spec.get("benchmark", "")))
    given = job.spec.get("options") or {}
    return [str(given.get(one.name, "")) for one in known.options if one.kind == "dataset"] if known else []


def policy(job: Job) -> Iterator[tuple[str, str]]:
    """What the job begins with, as far as runs of its project left it: an adapter, and what that is on."""
    for run, checkpoint, folder in layers(job):
        yield from listed(run, str(folder.relative_to(run.folder)))
        if checkpoint == BEST:
            yield from listed(run, OUT, deep=False)


def layers(job: Job) -> Iterator[tuple[Job, str | None, Path]]:
    """The runs whose policies a job begins with: which checkpoint, and its folder; an adapter before what it is on."""
    name = base_of(job)
    for _ in range(MOST_LAYERS):
        found = OF_RUN.fullmatch(name)
        run = source(job, found[1]) if found else None
        folder = left_by(run.folder, found[2]) if run and found else None
        if found is None or run is None or folder is None:
            return
        yield run, found[2], folder
        if not (folder / ADAPTER_CONFIG).is_file():
            return
        name = base_of(run)


def ground_of(job: Job) -> str:
    """The name of the policy that a job begins with, or of the one that its adapters are on."""
    name = base_of(job)
    for run, _, folder in layers(job):
        name = base_of(run) if (folder / ADAPTER_CONFIG).is_file() else name
    return name


def base_of(run: Job) -> str:
    """What the adapters that a run leaves are on: the name of the policy that it started from."""
    return str(run.spec.get("policy", WARM))


def shared(job: Job) -> Iterator[tuple[str, str]]:
    """What an evaluation finds on the site: the graph of tools, and what is known of its policy on its benchmark."""
    data, model = Path(settings.PROVE_DATA), job.spec.get("model") or job.spec.get("policy", WARM)
    root = data / "benchmarks" / "projects" / str(job.project_id)
    benchmark = str(job.spec.get("benchmark", ""))
    kept = islice(folders_of(root, benchmark, str(model)) if benchmark in KNOWN else (), MOST_KEPT)
    for file in (graph_path(data / "graph"), *(folder / name for folder in kept for name in (IDENTITY, ITEMS))):
        if file.is_file() and not file.is_symlink():
            yield SITE, str(file.relative_to(data))


def source(job: Job, other: str) -> Job | None:
    """Another job of the same project; None for what is none."""
    try:
        return Job.objects.filter(project=job.project_id, pk=UUID(other)).first()
    except ValueError:
        return None


def listed(job: Job | None, under: str, deep: bool = True) -> Iterator[tuple[str, str]]:
    """Plain files only: a link might lead out of the folder."""
    if job is None:
        return
    folder = job.folder / under
    for file in sorted(folder.rglob("*") if deep else folder.glob("*")):
        name = str(file.relative_to(job.folder))
        if file.is_file() and not file.is_symlink() and plain(name) and not name.endswith(PARTIAL):
            yield str(job.pk), name


def plain(name: str) -> bool:
    """Whether it is the log, or a path in the folder of results that leads nowhere else."""
    parts = name.split("/")
    inside = parts[0] == OUT and 2 <= len(parts) <= DEEPEST
    return name == LOG or (inside and all(PLAIN.fullmatch(part) for part in parts))


def take(job: Job, name: str, at: int, pieces: Iterable[bytes], last: bool) -> None:
    """A piece of a file; with the last one the whole takes the place of what was there. Raises NotTaken and OSError."""
    if not plain(name):
        raise NotTaken("Invalid file name for a job result.")
    target = job.folder / name
    if not target.parent.resolve().is_relative_to(job.folder.resolve()):
        raise NotTaken("The path leads out of the job's folder.")
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(target.name + PARTIAL)
    with draft.open("wb" if at == 0 else "r+b") as file:
        if file.seek(0, 2) != at:
            raise NotTaken(f"{file.tell():,} bytes are here; start again from the first.")
        for piece in pieces:
            file.write(piece)
    if last:
        if target.name == ADAPTER_CONFIG:
            draft.write_text(json.dumps(grounded(job, draft)), "utf-8")
        if is_rollouts(name):
            require_rollouts(name, draft)
        draft.replace(target)


def require_rollouts(name: str, draft: Path) -> None:
    """Refuse a file of rollouts that pages could not read within their memory. Raises NotTaken."""
    try:
        require_decodable(draft)
    except UnreadableData as why:
        draft.unlink()
        raise NotTaken(f"{name} is refused: {why}") from None


def grounded(job: Job, adapter: Path) -> dict[str, Any]:
    """What an adapter says of itself, on the policy that its run started from, as it lies here.

    The machine knows another folder; and what it names must not have one of another team loaded. Raises NotTaken.
    """
    try:
        told = json.loads(adapter.read_bytes()) if adapter.stat().st_size <= LARGEST_CONFIG else None
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise NotTaken(f"This is not a valid {ADAPTER_CONFIG}.")
    base = folder_of(job.project, base_of(job))
    return {**told, "base_model_name_or_path": str(base or job.folder / GONE)}


def keep(job: Job, names: Iterable[str]) -> None:
    """Remove results that the machine no longer has, such as checkpoints before the last ones."""
    kept = set(names)
    for _, name in list(listed(job, OUT)):
        if name not in kept:
            (job.folder / name).unlink(missing_ok=True)
    for folder in sorted((job.folder / OUT).rglob("*"), reverse=True):
        if folder.is_dir() and not folder.is_symlink():
            with suppress(OSError):
                folder.rmdir()


def path_of(job: str, name: str, data: Path) -> Path:
    return data / "jobs" / job / name if job else data / name
