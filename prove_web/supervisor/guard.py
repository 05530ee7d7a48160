"""Run a command that dies with the supervisor, even if that is killed: `guard.py SUPERVISOR_PID COMMAND...`.

Run as a script with bare Python, it costs about 20 ms. On Linux it requests a kill signal for the parent's death and
then becomes the command. Elsewhere it stays as the parent and watches standard input, which the supervisor holds open.
"""

import os
import signal
import subprocess
import sys
import threading
from types import FrameType
from typing import NoReturn

PR_SET_PDEATHSIG = 1


def become(supervisor: int, command: list[str]) -> NoReturn:
    """Request to be killed with the parent, then exec the command."""
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:  # the parent was gone before the request
        os.kill(os.getpid(), signal.SIGKILL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.execvp(command[0], command)


def watch(command: list[str]) -> int:
    """Run the command; kill this whole process group when standard input ends. Returns the exit code."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def pass_on(number: int, frame: FrameType | None) -> None:
        child.send_signal(number)

    signal.signal(signal.SIGTERM, pass_on)
    threading.Thread(target=kill_when_left_alone, daemon=True).start()
    code = child.wait()
    return code if code >= 0 else 128 - code


def kill_when_left_alone() -> None:
    while os.read(0, 1024):
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    if sys.platform == "linux":
        become(int(sys.argv[1]), sys.argv[2:])
    sys.exit(watch(sys.argv[2:]))
