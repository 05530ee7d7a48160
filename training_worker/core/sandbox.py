"""Child processes that decode untrusted files, within limits of memory, processor time and output.

The child calls `decode`, which sets the limits first; the parent calls `run`, or `stream_lines` to read the child's
output while it works. Memory that a file takes is freed when the child ends.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from .trajectory import UnreadableData

ROOT = Path(__file__).parents[2]
PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH")  # no secrets
MEMORY = 2 << 30  # bytes of address space
SECONDS = 120  # of processor time
LARGEST_FILE = 4 << 30  # bytes of any file that it writes
EVERY = 0.5  # seconds between two polls
REFUSED = 2  # exit status: the last line on standard error says why
TOO_MUCH = (
    "Reading it exceeds the limit of memory or time for a file: it unpacks to far more than its size. Split it up."
)

inside = False  # whether this process is a sandboxed child


def decode(
    work: Callable[[], None], memory: int = MEMORY, seconds: int = SECONDS, largest_file: int = LARGEST_FILE
) -> int:
    """Do the work under limits and return the exit status. Only the main function of a child calls it."""
    global inside
    for limit, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, largest_file),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (most, most))
    inside = True
    try:
        work()
    except MemoryError:
        print(TOO_MUCH, file=sys.stderr)
        return REFUSED
    except UnreadableData as why:
        print(why, file=sys.stderr)
        return REFUSED
    return 0


def run(module: str, words: Sequence[str], poll: Callable[[], None] = lambda: None) -> None:
    """Wait until a child has done its work; `poll` may raise to end it. Raises UnreadableData."""
    with tempfile.TemporaryFile() as errors, start_child(module, words, subprocess.DEVNULL, errors) as child:
        try:
            while True:
                poll()
                try:
                    child.wait(EVERY)
                    break
                except subprocess.TimeoutExpired:
                    continue
        finally:
            child.kill()
        require_done(child, errors)


def stream_lines(module: str, words: Sequence[str], longest: int) -> Iterator[bytes]:
    """Yield each line that a child prints, of at most `longest` bytes. Raises UnreadableData."""
    with tempfile.TemporaryFile() as errors, start_child(module, words, subprocess.PIPE, errors) as child:
        assert child.stdout
        try:
            while line := child.stdout.readline(longest + 1):
                if len(line) > longest:
                    raise UnreadableData(f"A row of it has more than {longest:,} bytes, which is the limit.")
                yield line
            child.wait()
        finally:
            child.kill()
        require_done(child, errors)


def start_child(module: str, words: Sequence[str], stdout: int, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    options: dict[str, Any] = {"cwd": ROOT, "env": environment(), "stdin": subprocess.DEVNULL, "stdout": stdout}
    return subprocess.Popen([sys.executable, "-m", module, *words], stderr=errors, **options)


def environment() -> dict[str, str]:
    """Return the environment variables that a child gets."""
    return {name: os.environ[name] for name in PASSED if name in os.environ}


def require_done(child: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    """Raise UnreadableData with the child's own reason; a child that was killed exceeded its limits."""
    if child.returncode == 0:
        return
    errors.seek(0)
    lines = errors.read(1 << 20).decode("utf-8", "replace").strip().splitlines()
    raise UnreadableData(lines[-1][:500] if lines and child.returncode == REFUSED else TOO_MUCH)
