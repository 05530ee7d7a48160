"""The policy that a run starts from: the shipped one, a model of the configured roots, or what another run left.

A name never leads out of its place: neither through `..` nor through a link.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from .work import Refused

WARM = Path(__file__).parents[1] / "trainer" / "warm"
ROOTS = "PROVE_MODELS"  # folders, separated by colons
OF_RUN = re.compile(r"run:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:/(checkpoint-\d{1,9}))?")


def policy_folder(name: Any, jobs: Path) -> Path:
    """`warm`, `run:<job>`, `run:<job>/checkpoint-<step>`, or a model's name; `jobs` holds the jobs' folders.

    Raises Refused.
    """
    if name == "warm":
        return WARM
    if not isinstance(name, str):
        raise Refused(f"There is no policy {name!r}. There is: warm.")
    if found := OF_RUN.fullmatch(name):
        job, checkpoint = found.groups()
        folder = jobs / job / "out" / (f"checkpoints/{checkpoint}" if checkpoint else "policy")
        if (folder / "config.json").is_file():
            return folder
        raise Refused(f"What run {job} left is not here: {folder.name}. A run keeps its last two checkpoints.")
    for root in model_roots(jobs.parent):
        folder = root / name
        if folder.resolve().parent == root.resolve() and (folder / "config.json").is_file():
            return folder
    raise Refused(f"There is no policy {name!r}. There is: {', '.join(['warm', *models(jobs.parent)])}.")


def model_roots(data: Path) -> list[Path]:
    """The folders that hold models, a folder each; by default one in the data folder."""
    given = os.environ.get(ROOTS, "")
    return [Path(root).expanduser() for root in given.split(os.pathsep) if root] or [data / "models"]


def models(data: Path) -> list[str]:
    """The names of the models there are."""
    return sorted({found.parent.name for root in model_roots(data) for found in root.glob("*/config.json")})
