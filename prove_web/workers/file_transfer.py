"""File transfer for jobs on enrolled machines: required files, received files, and their locations."""

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
from training_worker.core.models import BEST, OF_RUN, left_by
from training_worker.core.trajectory import UnreadableData
from training_worker.evaluation.registry import KNOWN
from training_worker.evaluation.results import IDENTITY, ITEMS, folders_of
from training_worker.graph.dependency_graph import graph_path
from training_worker.jobs.console import LOG
from training_worker.store.inspection import is_rollouts, require_decodable

PIECE = 4 << 20  # bytes per chunk
PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}")
DEEPEST = 6
OUT, PARTIAL = "out", ".partial"
ADAPTER_CONFIG, GONE = "adapter_config.json", "policy-that-is-gone"
LARGEST_CONFIG = 1_000_000  # bytes
MOST_LAYERS = 16  # stacked adapters
MAX_FOLDERS = 10  # result folders of the same model and benchmark
SITE = ""  # instead of a job: the data folder itself


class NotTaken(ValueError):
    """Error for a rejected file or chunk; the message says why."""


def iter_required_files(job: Job) -> Iterator[tuple[str, str]]:
    """Yield job and path of each file that the job requires: its datasets, policy and previous output."""
    for other in (job.spec.get("dataset"), *options(job)):
        yield from iter_job_files(source(job, str(other or "")), OUT, deep=False)
    yield from policy(job)
    if job.kind == Kind.EVALUATE:
        yield from iter_evaluation_files(job)
    yield from iter_job_files(job, OUT)


def options(job: Job) -> list[str]:
    """Return the datasets named in an evaluation's options."""
    known = KNOWN.get(str(job.spec.get("benchmark", "")))
    given = job.spec.get("options") or {}
    return [str(given.get(one.name, "")) for one in known.options if one.kind == "dataset"] if known else []


def policy(job: Job) -> Iterator[tuple[str, str]]:
    """Yield the files of the initial policy if it comes from runs of the project: adapters and their base."""
    for run, checkpoint, folder in layers(job):
        yield from iter_job_files(run, str(folder.relative_to(run.folder)))
        if checkpoint == BEST:
            yield from iter_job_files(run, OUT, deep=False)


def layers(job: Job) -> Iterator[tuple[Job, str | None, Path]]:
    """Yield run, checkpoint and folder of each layer of the initial policy; an adapter before its base."""
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
    """Return the name of the initial policy, or of its base if it is an adapter."""
    name = base_of(job)
    for run, _, folder in layers(job):
        name = base_of(run) if (folder / ADAPTER_CONFIG).is_file() else name
    return name


def base_of(run: Job) -> str:
    """Return the name of a run's initial policy, which is the base of its adapters."""
    return str(run.spec.get("policy", WARM))


def iter_evaluation_files(job: Job) -> Iterator[tuple[str, str]]:
    """Yield site files for an evaluation: the dependency graph, and existing results of its model on its benchmark."""
    data, model = Path(settings.PROVE_DATA), job.spec.get("model") or job.spec.get("policy", WARM)
    root = data / "benchmarks" / "projects" / str(job.project_id)
    benchmark = str(job.spec.get("benchmark", ""))
    folders = islice(folders_of(root, benchmark, str(model)) if benchmark in KNOWN else (), MAX_FOLDERS)
    for file in (graph_path(data / "graph"), *(folder / name for folder in folders for name in (IDENTITY, ITEMS))):
        if file.is_file() and not file.is_symlink():
            yield SITE, str(file.relative_to(data))


def source(job: Job, other: str) -> Job | None:
    """Return another job of the same project; None for an unknown or invalid id."""
    try:
        return Job.objects.filter(project=job.project_id, pk=UUID(other)).first()
    except ValueError:
        return None


def iter_job_files(job: Job | None, under: str, deep: bool = True) -> Iterator[tuple[str, str]]:
    """Yield regular files only, because a symbolic link might lead out of the folder."""
    if job is None:
        return
    folder = job.folder / under
    for file in sorted(folder.rglob("*") if deep else folder.glob("*")):
        name = str(file.relative_to(job.folder))
        if file.is_file() and not file.is_symlink() and is_safe_result_name(name) and not name.endswith(PARTIAL):
            yield str(job.pk), name


def is_safe_result_name(name: str) -> bool:
    """Return whether the name is the log, or a safe path in the output folder."""
    parts = name.split("/")
    inside = parts[0] == OUT and 2 <= len(parts) <= DEEPEST
    return name == LOG or (inside and all(PLAIN.fullmatch(part) for part in parts))


def take(job: Job, name: str, at: int, pieces: Iterable[bytes], last: bool) -> None:
    """Write a chunk of a file; the last chunk replaces the previous version. Raises NotTaken and OSError."""
    if not is_safe_result_name(name):
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
            draft.write_text(json.dumps(rewrite_adapter_config(job, draft)), "utf-8")
        if is_rollouts(name):
            require_rollouts(name, draft)
        draft.replace(target)


def require_rollouts(name: str, draft: Path) -> None:
    """Reject a rollout file that pages could not read within their memory limit. Raises NotTaken."""
    try:
        require_decodable(draft)
    except UnreadableData as why:
        draft.unlink()
        raise NotTaken(f"{name} is refused: {why}") from None


def rewrite_adapter_config(job: Job, adapter: Path) -> dict[str, Any]:
    """Return an adapter's configuration with the base path replaced by the local path of the initial policy.

    The machine has another folder, and a path from the machine could load another team's policy. Raises NotTaken.
    """
    try:
        config = json.loads(adapter.read_bytes()) if adapter.stat().st_size <= LARGEST_CONFIG else None
    except (ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        raise NotTaken(f"This is not a valid {ADAPTER_CONFIG}.")
    base = folder_of(job.project, base_of(job))
    return {**config, "base_model_name_or_path": str(base or job.folder / GONE)}


def delete_unlisted_results(job: Job, names: Iterable[str]) -> None:
    """Delete results that the machine no longer has, such as old checkpoints."""
    wanted = set(names)
    for _, name in list(iter_job_files(job, OUT)):
        if name not in wanted:
            (job.folder / name).unlink(missing_ok=True)
    for folder in sorted((job.folder / OUT).rglob("*"), reverse=True):
        if folder.is_dir() and not folder.is_symlink():
            with suppress(OSError):
                folder.rmdir()


def path_of(job: str, name: str, data: Path) -> Path:
    return data / "jobs" / job / name if job else data / name
