"""What went wrong, as a sentence that a person can act on; the traceback is in the log."""

from __future__ import annotations

import errno
import shutil
import signal
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from ..disk_quota import NoRoom
from ..prove.trajectory import UnreadableData
from ..stage_cache import StageFailed
from .job_context import Refused

FULL_BYTES = 10_000_000
CLOSED = "The worker was shut down; the job goes on when it is back."
FULL = "The worker's disk is full. Make room, then resume: what is done is kept."
GPU_MEMORY = (
    "The GPU ran out of memory. Lower the prompts, the group or the completion tokens, train with LoRA (lora_rank), "
    "set micro_batch to 1 or turn gradient_checkpointing on, and launch the run again."
)
MEMORY = "The worker ran out of memory. Use fewer prompts or smaller groups, or a machine with more memory."
KILLED = (
    "Processes of the job were killed again and again; the system may have run out of memory. What is done is kept."
)
NO_TRAINER = "This worker cannot train: torch is not installed. Run `make setup` without TORCH=0, then resume."
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")


def explain(error: BaseException | None, folder: Path) -> str:
    """The sentence; "" for no error on a disk with room. Raises nothing."""
    match error:
        case NoRoom():
            return f"{error} Then resume: what is done is kept."
        case Refused() | UnreadableData() | StageFailed():  # a StaleExample among them
            return str(error)
        case MemoryError():
            return MEMORY
        case BrokenProcessPool():
            return KILLED
        case ModuleNotFoundError(name="torch"):
            return NO_TRAINER
        case OSError() if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
            return f"The worker may not write to {error.filename or folder}. Give it the right to, then resume."
    if is_full(folder) or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        return FULL  # libraries tell a full disk in words of their own
    if "CUDA" in str(error) and "out of memory" in str(error):
        return GPU_MEMORY
    if any(words in str(error).lower() for words in OUT_OF_MEMORY):
        return MEMORY
    if error is None:
        return ""
    first = (str(error).strip().splitlines() or [""])[0][:300]
    return f"Something unforeseen happened ({type(error).__name__}: {first}). The log has the details."


def killed(number: signal.Signals) -> str:
    """What to say of a child that a signal ended which we did not send."""
    why = " The system may have run out of memory." if number == signal.SIGKILL else ""
    return f"The job's process was ended by {number.name}.{why}"


def is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < FULL_BYTES
    except OSError:
        return False
