"""Environments beside our own: packages whose pins would fight ours, each set in a virtual environment of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BFCL = ("--no-deps", "bfcl-eval==2026.3.23", "mpmath==1.4.1")


class SetUpFailed(Exception):
    """An environment could not be made; says where and why."""


class NotInstalled(Exception):
    """A benchmark's package is not there; says where it was looked for, and how to get it."""


def environment(folder: Path, packages: tuple[str, ...]) -> Path:
    """The interpreter of an environment with these packages, made when it is not there. Raises SetUpFailed."""
    python, ready = folder / "bin" / "python", folder / "ready"
    if not ready.exists():
        print(f"installing {packages[packages[0] == '--no-deps']} and others into {folder}", flush=True)
        install = [str(python), "-m", "pip", "install", "-q", *packages]
        for command in ([sys.executable, "-m", "venv", str(folder)], install):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise SetUpFailed(f"{folder} could not be set up: {last_line(done)}")
        ready.touch()
    return python


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    return ((done.stderr or done.stdout).strip().splitlines() or ["it ended without a word"])[-1]


def installed(folder: Path, benchmark: str) -> Path:
    """The interpreter of a benchmark's environment. Raises NotInstalled."""
    if not (folder / "ready").exists():
        raise NotInstalled(
            f"{benchmark} is not installed in {folder}: `manage.py evaluate {benchmark} --install` gets it from PyPI."
        )
    return folder / "bin" / "python"
