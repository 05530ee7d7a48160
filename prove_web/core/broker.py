"""Socket paths of the embedded broker and of the gateway, as known to every process of one data folder."""

from __future__ import annotations

import os
import tempfile
from hashlib import blake2b
from pathlib import Path

LONGEST_SOCKET_PATH = 100  # the kernel's limit is 104 to 108 bytes


def socket_path(data: Path, of: str = "valkey") -> Path:
    """Return a socket path in the data folder; if that is too long, in a folder of its own in the temporary folder."""
    path = data / of / f"{of}.sock"
    if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
        return path
    name = blake2b(os.fsencode(data), digest_size=8).hexdigest()
    return Path(tempfile.gettempdir()) / f"prove-{os.getuid()}-{name}" / f"{of}.sock"


def embedded_url(data: Path) -> str:
    return f"unix://{socket_path(data)}?db=0"
