"""Retention of freed memory: by default glibc returns tensors to the system and faults them in again each step."""

from __future__ import annotations

import ctypes
import platform

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # names of malloc.h
# bytes: larger tensors go back to the system, otherwise fragmentation grows the heap from step to step
RETAINED_BYTES = 16 << 20


def keep_memory() -> bool:
    """Configure the allocator; return whether it accepted the settings."""
    if platform.libc_ver()[0] != "glibc":
        return False
    library = ctypes.CDLL(None)
    settings = {MMAP_THRESHOLD: RETAINED_BYTES, TRIM_THRESHOLD: RETAINED_BYTES, TOP_PAD: RETAINED_BYTES}
    return all([library.mallopt(name, value) == 1 for name, value in settings.items()])
