"""Reader and writer of Weights & Biases run files, `run-ID.wandb`, with its own library and in full precision.

The writer makes an offline run, which `wandb sync FOLDER` uploads to an account. It uses the library's public API,
which starts a helper process. Nothing here uses the network.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ.update(WANDB_MODE="offline", WANDB_ERROR_REPORTING="false")  # before wandb is imported

import wandb

from .tracked_run import MOST_RUNS, SOURCES, NotRead, TrackedRun, group_into_points, map_trainer_names
from .wandb_file import History, run_in

PATTERN = "*.wandb"
PROJECT = "prove-studio"
OURS = "prove"  # prefix, in their files, of our metrics whose names have a meaning there
THEIRS = ("_step", "_runtime", "_timestamp", "_wandb")
OFFLINE = {f"WANDB_{name}": "true" for name in ("SILENT", "DISABLE_CODE", "DISABLE_GIT")} | {
    "WANDB_MODE": "offline",
    "WANDB_ERROR_REPORTING": "false",
}
FOLDERS = ("WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR")
ENDS = {"done": 0, "failed": 1, "stopped": 255}  # exit codes; 255 is that of Ctrl-C
STATES = {code: state for state, code in ENDS.items()}
MOST_NAMED = 10  # skipped names that are listed one by one


def read(path: Path) -> list[TrackedRun]:
    """Read each file as a run. Raises NotRead."""
    files = [path] if path.is_file() else sorted(path.rglob(PATTERN))
    if not files:
        raise NotRead("It contains no Weights & Biases run, whose file is called run-….wandb.")
    if len(files) > MOST_RUNS:
        raise NotRead(f"It has {len(files)} runs; one import reads at most {MOST_RUNS}.")
    return [read_run(file) for file in files]


def read_run(file: Path) -> TrackedRun:
    known = run_in(file)
    rows, called = known.history, map_trainer_names(known.history.names)
    values = (
        (called[name].removeprefix(f"{OURS}/") if is_escaped_name(called[name]) else called[name], step, time, value)
        for name, step, time, value in rows.values()
    )
    points = group_into_points(values)
    return TrackedRun(
        name=(known.name or known.id or file.stem)[:80],
        config=known.config,
        tags=tuple(known.tags),
        state=STATES.get(known.exit_code, "failed") if known.exit_code is not None else "failed",
        points=points["points"],
        held_out=points["held_out"],
        notes=known.notes,
        result={name: value for name, value in known.summary.items() if name not in rows.tops},
        remarks=tuple(remarks(rows, known.damaged, known.exit_code is not None)),
    )


def is_escaped_name(name: str) -> bool:
    return name in {f"{OURS}/{one}" for one in THEIRS}


def remarks(rows: History, damaged: str, ended: bool) -> Iterator[str]:
    """Yield sentences on what differs from the file."""
    if rows.left_out:
        often = sorted(rows.left_out.items())
        named = ", ".join(f"{name[:80]} ({count:,} times)" for name, count in often[:MOST_NAMED])
        more = f" and {len(often) - MOST_NAMED} others" if len(often) > MOST_NAMED else ""
        yield f"Skipped, because they are not numbers: {named}{more}."
    if damaged:
        yield damaged
    if not ended:
        yield "The file does not say how the run ended, so it counts as failed."


def write(run: TrackedRun, folder: Path) -> None:
    """Write a folder `wandb` with one offline run; `wandb sync wandb/offline-run-…` uploads it to an account."""
    with TemporaryDirectory(prefix="prove-wandb-") as scratch:
        for setting in [setting for setting in os.environ if setting.startswith("WANDB_")]:
            del os.environ[setting]  # the owner of this machine may have an account, which must not be used
        os.environ.update(OFFLINE | dict.fromkeys(FOLDERS, scratch))
        settings = wandb.Settings(
            root_dir=scratch,
            host=OURS,
            console="off",
            disable_git=True,
            save_code=False,
            x_disable_meta=True,
            x_disable_stats=True,
            x_disable_machine_info=True,
            x_save_requirements=False,
        )
        made = wandb.init(
            id=sha256(run.as_json().encode()).hexdigest()[:16],
            project=PROJECT,
            name=run.name,
            notes=run.notes,
            tags=run.tags,
            config=run.config,
            settings=settings,
        )
        for step, row in rows_of(run):
            made.log(row, step=step)
        made.summary.update(run.result)
        made.finish(exit_code=ENDS.get(run.state, 0))
        wandb.teardown()
        for written in Path(scratch, "wandb").glob("offline-run-*"):
            for name in ("logs", "tmp"):  # they say where the file was written
                shutil.rmtree(written / name, ignore_errors=True)
            shutil.move(written, folder / "wandb" / written.name)


def rows_of(run: TrackedRun) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield all metrics by step; a row has a single time, that of the later of its two sources."""
    times: dict[int, float] = {}
    for source in SOURCES:
        for one in getattr(run, source):
            times[one["step"]] = max(one["time"], times.get(one["step"], one["time"]))
    rows: dict[int, dict[str, float]] = {step: {"_timestamp": time} for step, time in times.items()}
    for name, step, _, value in run.values():
        rows[step][f"{OURS}/{name}" if name in THEIRS else name] = value
    yield from sorted(rows.items())
