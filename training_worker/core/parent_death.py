"""Parent-death handling: a process does not outlive its parent, and takes the processes that it started with it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int | None = None) -> None:
    """Have this process killed as soon as its parent is gone, and with it the process group that it leads, if any.

    `parent` is the parent's id when this process was started. Call this before any thread is started.
    """
    parent = parent or os.getppid()
    if sys.platform != "linux":
        threading.Thread(target=await_parent_death, args=(parent,), daemon=True).start()
        return
    leads = os.getpgrp() == os.getpid()
    if leads:  # SIGHUP as death signal, because SIGKILL would leave no time to kill the rest of the group
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
        threading.Thread(target=await_hangup, daemon=True).start()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGHUP if leads else signal.SIGKILL)
    if os.getppid() != parent:  # the parent was gone before the request
        end()


def await_hangup() -> None:
    signal.sigwait({signal.SIGHUP})
    end()


def await_parent_death(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    end()


def end() -> None:
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
