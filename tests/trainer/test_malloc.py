"""The allocator is told to keep memory where that can be, and nothing breaks where it cannot."""

import platform

from training_worker.trainer.malloc import keep_memory


def test_glibc_listens_and_other_libraries_are_left_alone() -> None:
    assert keep_memory() == (platform.libc_ver()[0] == "glibc")
