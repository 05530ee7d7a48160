"""Explanations of errors, as sentences that a person can act on; the traceback is in the log."""

from __future__ import annotations

import errno
import shutil
import signal
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from ..core.disk_quota import NoDiskSpace
from ..core.stage_cache import StageFailed
from ..core.trajectory import UnreadableData
from .job_context import JobRefusedError

FULL_BYTES = 10_000_000
CLOSED = "The worker was shut down; the job resumes when it is back."
FULL = "The worker's disk is full. Free space, then resume: finished work is kept."
GPU_MEMORY = (
    "The GPU ran out of memory. Lower the prompts, the group or the completion tokens, train with LoRA (lora_rank), "
    "set micro_batch to 1 or turn gradient_checkpointing on, and launch the run again."
)
MEMORY = "The worker ran out of memory. Use fewer prompts or smaller groups, or a machine with more memory."
KILLED = "Processes of the job were killed repeatedly; the system may have run out of memory. Finished work is kept."
NO_TRAINER = "This worker cannot train: torch is not installed. Run `make setup` without TORCH=0, then resume."
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")


def explain(error: BaseException | None, folder: Path) -> str:
    """Explain an error in a sentence; "" if there is no error and the disk has space. Raises nothing."""
    match error:
        case NoDiskSpace():
            return f"{error} Then resume: finished work is kept."
        case JobRefusedError() | UnreadableData() | StageFailed():  # a StaleExample among them
            return str(error)
        case MemoryError():
            return MEMORY
        case BrokenProcessPool():
            return KILLED
        case ModuleNotFoundError(name="torch"):
            return NO_TRAINER
        case OSError() if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
            return f"The worker has no permission to write to {error.filename or folder}. Grant it, then resume."
    if is_full(folder) or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        return FULL  # libraries report a full disk in their own words
    if "CUDA" in str(error) and "out of memory" in str(error):
        return GPU_MEMORY
    if any(words in str(error).lower() for words in OUT_OF_MEMORY):
        return MEMORY
    if error is None:
        return ""
    first = (str(error).strip().splitlines() or [""])[0][:300]
    return f"Unexpected error ({type(error).__name__}: {first}). See the log for details."


def explain_signal(number: signal.Signals) -> str:
    """Explain a child that was ended by a signal which the supervisor did not send."""
    why = " The system may have run out of memory." if number == signal.SIGKILL else ""
    return f"The job's process was ended by {number.name}.{why}"


def is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < FULL_BYTES
    except OSError:
        return False
