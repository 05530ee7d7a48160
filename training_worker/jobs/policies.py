"""The policy that a run starts from: the shipped one, a model of the configured roots, or what another run left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..prove.models import OF_RUN, left_by
from ..prove.trajectory import UnreadableData
from .work import Refused


def policy_folder(name: Any, jobs: Path) -> Path:
    """`warm`, `run:<job>`, `run:<job>/checkpoint-<step>`, or a model's name; `jobs` holds the jobs' folders.

    Raises Refused.
    """
    from ..trainer.models import find_model

    if isinstance(name, str) and (found := OF_RUN.fullmatch(name)):
        job, checkpoint = found.groups()
        folder = left_by(jobs / job, checkpoint)
        if folder is None:
            raise Refused(
                f"What run {job} left is not here: {checkpoint or 'its policy'}. A run keeps its last two checkpoints."
            )
        return folder
    try:
        return find_model(str(name))
    except UnreadableData as error:
        raise Refused(str(error)) from None
