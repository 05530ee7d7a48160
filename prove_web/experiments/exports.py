"""A checkpoint as a folder that others can use, made on the queue `files` by a child, so that Django never loads torch.

A run keeps one such folder at a time, in `exports` of its job's folder: `NAME` once it is whole, `NAME.working` while
it is made, `NAME.error` with the reason if it was not.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from prove_web.disk_guard import NoRoom, room_for, size_of
from prove_web.live.error_text import fault
from prove_web.live.message_broker import later
from prove_web.live.models import FILES, Job

from .checkpoints import Checkpoint
from .initial_policy import WARM
from .run_estimate import folder_of

TASK = "prove_web.experiments.export"
LONGEST = 3600  # seconds that an export may take
ADAPTER = "adapter_model.safetensors"
MOST = 300  # characters of a reason

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Export:
    """One checkpoint exported, `merged` with the weights of its model or not."""

    job: Job
    step: int
    merged: bool = False

    @property
    def name(self) -> str:
        return f"checkpoint-{self.step}" + ("-merged" if self.merged else "")

    @property
    def folder(self) -> Path:
        return exports(self.job) / self.name

    @property
    def working(self) -> Path:
        return exports(self.job) / f"{self.name}.working"

    @property
    def failed(self) -> Path:
        return exports(self.job) / f"{self.name}.error"

    @property
    def ready(self) -> bool:
        return self.folder.is_dir()

    @property
    def at_work(self) -> bool:
        """An export that died with its worker is none."""
        try:
            return time.time() - self.working.stat().st_mtime < LONGEST
        except FileNotFoundError:
            return False

    @property
    def why(self) -> str:
        """Why there is none, as far as one was asked for."""
        try:
            return self.failed.read_text("utf-8")[:MOST]
        except FileNotFoundError:
            return ""


def exports(job: Job) -> Path:
    return job.folder / "exports"


def adapted(checkpoint: Checkpoint) -> bool:
    """Whether it holds an adapter, and not a whole model."""
    return (checkpoint.folder / ADAPTER).is_file()


def ask(export: Export) -> bool:
    """Have it made, unless it is there or at work; the one before it goes. False when the broker does not answer.

    Raises NoRoom.
    """
    if export.ready or export.at_work:
        return True
    room_for(f"the export of checkpoint {export.step}", size(export) - size_of([exports(export.job)]))
    shutil.rmtree(exports(export.job), ignore_errors=True)
    exports(export.job).mkdir(parents=True)
    export.working.touch()
    sent = later(TASK, FILES, job=str(export.job.pk), step=export.step, merged=export.merged)
    if not sent:
        export.working.unlink(missing_ok=True)
    return sent


def size(export: Export) -> int:
    """About how many bytes it takes: those of its checkpoint, and merged those of the model that it is added to."""
    checkpoint = export.job.out / "checkpoints" / f"checkpoint-{export.step}"
    base = folder_of(export.job.project, str(export.job.spec.get("policy", WARM))) if export.merged else None
    return size_of([checkpoint, *filter(None, [base])])


def make(export: Export) -> None:
    """What the task does: the folder, or why there is none."""
    try:
        room_for(f"the export of checkpoint {export.step}", size(export))
        if why := attempt(export):
            export.failed.write_text(why, "utf-8")
    except NoRoom as why:
        export.failed.write_text(str(why)[:MOST], "utf-8")
    except Exception as error:
        log.exception("The export of %s failed", export.folder)
        if exports(export.job).is_dir():  # else the run is gone, and nobody is left to be told
            export.failed.write_text(fault(error), "utf-8")
    finally:
        export.working.unlink(missing_ok=True)


def attempt(export: Export) -> str:
    """Why there is none, or nothing."""
    source = export.job.out / "checkpoints" / f"checkpoint-{export.step}"
    command = [sys.executable, "-m", "training_worker.trainer.export", str(source), str(export.folder)]
    command += ["--merge"] if export.merged else []
    environment = {**os.environ, "PROVE_DATA": str(settings.PROVE_DATA)}
    options = {"cwd": settings.BASE_DIR, "env": environment, "capture_output": True, "text": True, "timeout": LONGEST}
    try:
        done = subprocess.run(command, **options)
    except subprocess.TimeoutExpired:
        return "The export took longer than an hour. Use `manage.py export_model` instead."
    said = done.stderr.strip().splitlines() or ["The export ended without output."]
    return said[-1].replace(f"{settings.PROVE_DATA}/", "") if done.returncode else ""
