"""The policy that a run starts from: the shipped one, a model of the configured roots, or what another run left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..prove.models import OF_RUN, left_by, model_folders
from .work import Refused

WARM = Path(__file__).parents[1] / "trainer" / "warm"


def policy_folder(name: Any, jobs: Path) -> Path:
    """`warm`, `run:<job>`, `run:<job>/checkpoint-<step>`, or a model's name; `jobs` holds the jobs' folders.

    Raises Refused.
    """
    if name == "warm":
        return WARM
    if isinstance(name, str) and (found := OF_RUN.fullmatch(name)):
        job, checkpoint = found.groups()
        folder = left_by(jobs / job, checkpoint)
        if folder is None:
            raise Refused(
                f"What run {job} left is not here: {checkpoint or 'its policy'}. A run keeps its last two checkpoints."
            )
        return folder
    known = model_folders(jobs.parent)
    if not isinstance(name, str) or name not in known:
        raise Refused(f"There is no policy {name!r}. There is: {', '.join(['warm', *known][:20])}.")
    return known[name]
