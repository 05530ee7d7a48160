"""The launch form for API clients: names and numbers instead of a browser's form data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prove_web.accounts.models import Project

from .forms import RunForm, copy_form_values, list_copyable_runs, usable


class NotThere(ValueError):
    """Error for a field that names an object missing from the project; the message says what to do."""

    def __init__(self, field: str, message: str):
        super().__init__(message)
        self.field = field


def filled_form(project: Project, values: Mapping[str, Any]) -> RunForm:
    """Return the form filled with `values`. `dataset` and `clone` (the run to copy) are numbers. Raises NotThere."""
    given = {name: value for name, value in values.items() if name not in ("clone", "dataset") and value is not None}
    start: dict[str, Any] = {}
    if (number := values.get("clone")) is not None:
        source = list_copyable_runs(project).filter(number=number, deleted_at=None).first()
        if source is None:
            raise NotThere("clone", f"Run {number} to clone does not exist in this project.")
        start = copy_form_values(source)
    if (number := values.get("dataset")) is not None:
        found = usable(project).filter(number=number).first()
        if found is None:
            raise NotThere("dataset", f"Dataset {number} cannot be trained on: choose a finished one of conversations.")
        start["dataset"] = found.pk
    return RunForm(project, start | given)
