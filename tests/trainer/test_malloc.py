"""The allocator keeps freed memory where it can be configured to, and nothing breaks where it cannot."""

import platform

from training_worker.policy.malloc import keep_memory


def test_glibc_listens_and_other_libraries_are_left_alone() -> None:
    assert keep_memory() == (platform.libc_ver()[0] == "glibc")
