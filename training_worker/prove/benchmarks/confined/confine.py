"""A process without network, files to write, children, or much memory."""

import os
import resource
import sys
from typing import Any

MOST_MEMORY = 2 << 30
FORBIDDEN = tuple(
    "os.system os.exec os.posix_spawn os.spawn os.fork os.kill os.remove os.rename os.rmdir os.mkdir os.chmod os.chown "
    "os.link os.symlink os.truncate os.putenv shutil. subprocess. socket. ctypes. pty. tempfile. urllib.".split()
)


def confine() -> None:
    """No network, no files to write, no processes, and so much memory. What a system lacks, the audit hook makes up."""
    for limit, most in ((resource.RLIMIT_AS, MOST_MEMORY), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        try:
            resource.setrlimit(limit, (most, most))
        except (OSError, ValueError):
            continue
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).unshare(0x10000000 | 0x40000000)  # a user namespace, and in it a network without interfaces
    sys.addaudithook(refuse)


def refuse(event: str, details: tuple[Any, ...]) -> None:
    writes = event == "open" and details[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    if writes or event.startswith(FORBIDDEN):
        raise PermissionError(f"{event} is not allowed here")
