"""Checkpoint export to a standard folder.

The queue `files` runs it in a child process, so that Django never imports torch. A run has one export at a time, in
`exports` of its job's folder: `NAME` once complete, `NAME.working` during the export, `NAME.error` with the reason of a
failure.
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

from prove_web.core.disk_guard import NoDiskSpace, require_disk_space, size_of
from prove_web.live.error_text import fault
from prove_web.live.message_broker import enqueue_task
from prove_web.live.models import FILES, Job

from .checkpoints import Checkpoint
from .initial_policy import WARM
from .run_estimate import folder_of

TASK = "prove_web.experiments.export"
LONGEST = 3600  # timeout in seconds
ADAPTER = "adapter_model.safetensors"
MOST = 300  # characters of an error

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Export:
    """One exported checkpoint; `merged` includes the base model's weights."""

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
        """Return whether the export is running; one whose worker died times out."""
        try:
            return time.time() - self.working.stat().st_mtime < LONGEST
        except FileNotFoundError:
            return False

    @property
    def why(self) -> str:
        """Return the error of a failed export, or an empty text."""
        try:
            return self.failed.read_text("utf-8")[:MOST]
        except FileNotFoundError:
            return ""


def exports(job: Job) -> Path:
    return job.folder / "exports"


def is_adapter(checkpoint: Checkpoint) -> bool:
    """Return whether the checkpoint holds an adapter instead of a full model."""
    return (checkpoint.folder / ADAPTER).is_file()


def start_export(export: Export) -> bool:
    """Start the export unless it exists or is running; it replaces the previous export.

    Returns False when the broker does not respond. Raises NoDiskSpace.
    """
    if export.ready or export.at_work:
        return True
    require_disk_space(f"the export of checkpoint {export.step}", size(export) - size_of([exports(export.job)]))
    shutil.rmtree(exports(export.job), ignore_errors=True)
    exports(export.job).mkdir(parents=True)
    export.working.touch()
    sent = enqueue_task(TASK, FILES, job=str(export.job.pk), step=export.step, merged=export.merged)
    if not sent:
        export.working.unlink(missing_ok=True)
    return sent


def size(export: Export) -> int:
    """Estimate the export's size in bytes: that of its checkpoint plus, if merged, that of the base model."""
    checkpoint = export.job.out / "checkpoints" / f"checkpoint-{export.step}"
    base = folder_of(export.job.project, str(export.job.spec.get("policy", WARM))) if export.merged else None
    return size_of([checkpoint, *filter(None, [base])])


def make(export: Export) -> None:
    """Run the export in the task, and store the error if it fails."""
    try:
        require_disk_space(f"the export of checkpoint {export.step}", size(export))
        if why := attempt(export):
            export.failed.write_text(why, "utf-8")
    except NoDiskSpace as why:
        export.failed.write_text(str(why)[:MOST], "utf-8")
    except Exception as error:
        log.exception("The export of %s failed", export.folder)
        if exports(export.job).is_dir():  # else the run was deleted
            export.failed.write_text(fault(error), "utf-8")
    finally:
        export.working.unlink(missing_ok=True)


def attempt(export: Export) -> str:
    """Run the export process and return the error, or an empty text."""
    source = export.job.out / "checkpoints" / f"checkpoint-{export.step}"
    command = [sys.executable, "-m", "training_worker.training.export", str(source), str(export.folder)]
    command += ["--merge"] if export.merged else []
    environment = {**os.environ, "PROVE_DATA": str(settings.PROVE_DATA)}
    options = {"cwd": settings.BASE_DIR, "env": environment, "capture_output": True, "text": True, "timeout": LONGEST}
    try:
        done = subprocess.run(command, **options)
    except subprocess.TimeoutExpired:
        return "The export took longer than an hour. Use `manage.py export_model` instead."
    said = done.stderr.strip().splitlines() or ["The export ended without output."]
    return said[-1].replace(f"{settings.PROVE_DATA}/", "") if done.returncode else ""
