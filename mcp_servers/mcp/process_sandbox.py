"""Sandbox for third-party programs: runs one within resource limits and leaves none of its processes behind.

Run it by its path, without the site's packages: `python -I -S process_sandbox.py <megabytes> -- <command> ...`.
It must lead its own process group. It ends the group when the program ends, on SIGTERM, or when the process that
started it is gone.
"""

import ctypes
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1
OPEN_FILES, FILE_BYTES = 256, 200_000_000
NOT_STARTED = 127


def main(arguments: list[str]) -> None:
    megabytes, mark, *command = arguments
    if mark != "--" or not command:
        raise SystemExit(__doc__)
    signal.signal(signal.SIGTERM, lambda number, frame: end_all())
    end_with_parent(signal.SIGTERM)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        end_with_parent(signal.SIGKILL)
        become(command, int(megabytes))
    for descriptor in (0, 1, 2):  # otherwise nobody would notice that the program has closed its own
        os.close(descriptor)
    os.waitpid(child, 0)
    end_all()


def end_with_parent(number: int) -> None:
    """Have this signal sent to this process when the one that started it is gone (Linux only)."""
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:
            os.kill(os.getpid(), number)


def become(command: list[str], megabytes: int) -> None:
    for kind, most in (
        (resource.RLIMIT_DATA, megabytes * 1_000_000),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]} cannot be started: {error.strerror}\n".encode())
        os._exit(NOT_STARTED)


def end_all() -> None:
    """Kill the process group if this process leads it, and with it this process."""
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
