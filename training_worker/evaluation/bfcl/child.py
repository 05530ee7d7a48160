"""Parent's side of BFCL's process."""

from __future__ import annotations

from pathlib import Path

from ..confined import rpc_client
from ..confined.rpc_client import ChildFailed, LimitReached

__all__ = ["SECONDS", "Child", "ChildFailed", "LimitReached"]

RUNNER = "training_worker.evaluation.bfcl.inside.runner"
SECONDS = 20.0  # per step or verdict


class Child(rpc_client.Child):
    """A process of BFCL's interpreter. Raises ChildFailed when it does not start."""

    def __init__(self, python: Path, seconds: float = SECONDS):
        super().__init__("BFCL", RUNNER, python, seconds)
