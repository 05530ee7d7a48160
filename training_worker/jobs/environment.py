"""Software environment of an attempt: versions, code and cores. It names no path, person or machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = ("mcp_servers", "training_worker")  # packages whose code determines a run
PACKAGES = ("torch", "transformers", "trl", "peft", "accelerate", "vllm")
DIGEST = 8  # bytes


def environment() -> dict[str, str | int]:
    """Return `code` (see code_digest), `python`, `system`, `cores`, and the version of each installed package."""
    return {
        "code": code_digest(ROOT, CODE),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        **{name: found for name in PACKAGES if (found := get_package_version(name))},
    }


def get_package_version(package: str) -> str:
    """Return a package's version without importing it; "" if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def code_digest(root: Path, packages: Iterable[str]) -> str:
    """Return a digest of the Python code in these packages; any changed byte or renamed file changes it."""
    digest = blake2b(digest_size=DIGEST)
    for package in packages:
        for path in sorted((root / package).rglob("*.py")):
            name, text = path.relative_to(root).as_posix().encode(), path.read_bytes()
            digest.update(b"%d:%b%d:%b" % (len(name), name, len(text), text))
    return digest.hexdigest()
