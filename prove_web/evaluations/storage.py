"""Reading of item conversations from an evaluation's results folder."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from django.conf import settings

from training_worker.core.trajectory import loads
from training_worker.evaluation.protocol import Result
from training_worker.evaluation.results import ITEMS

from .models import Evaluation, EvaluationItem


class NoConversation(Exception):
    """Error for an item whose conversation cannot be shown; says why."""


def root_of(evaluation: Evaluation) -> Path:
    """Return the folder with the results of the evaluation's project."""
    return Path(settings.PROVE_DATA) / "benchmarks" / "projects" / str(evaluation.project_id)


def folder_of(evaluation: Evaluation) -> Path:
    """Return the results folder as the job reported it. Raises NoConversation."""
    name = evaluation.job.result.get("folder")
    if not isinstance(name, str) or not name:
        raise NoConversation("Results are not available yet. Try again when the evaluation has finished.")
    folder = (Path(settings.PROVE_DATA) / name).resolve()
    if not any(folder.is_relative_to(root.resolve()) for root in (root_of(evaluation), evaluation.job.out)):
        raise NoConversation("The results folder is outside of this project's folder and is not read.")
    return folder


def result_of(row: EvaluationItem) -> Result:
    """Load the result of an item. Raises NoConversation if the file is missing or has other content at this line."""
    path = folder_of(row.evaluation) / ITEMS
    if path.is_symlink():
        raise NoConversation(f"{ITEMS} of this evaluation is a symbolic link and is not followed.")
    try:
        with path.open("rb") as file:
            line = next(islice(file, row.line, None), b"")
    except OSError:
        raise NoConversation(
            "The results folder is missing. Scores are kept; evaluate again to read conversations."
        ) from None
    try:
        result = loads(Result, line)
    except ValueError:
        raise NoConversation(f"Line {row.line + 1} of {ITEMS} cannot be read: the file was changed or cut.") from None
    if result.item != row.item:
        raise NoConversation(f"Line {row.line + 1} of {ITEMS} contains another item: the file was changed.")
    return result
