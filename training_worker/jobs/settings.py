"""Settings of a training run from a job's specification, checked for known names, ranges and existing files."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from ..core.trajectory import loads
from ..datasets.dataset_folder import check
from .job_context import JobRefusedError, parse_int, require_known_settings
from .policies import policy_folder

Run = TypeVar("Run")

OWN = {"dataset", "policy", "evaluate_every", "held_out"}  # settings of both kinds of run besides their fields
GIVEN = {"policy", "data", "out"}  # fields that a specification does not set


def run_of(
    kind: type[Run],
    spec: Mapping[str, Any],
    folder: Path,
    least: Mapping[str, int],
    above_0: Collection[str],
    defaults: Mapping[str, Any] | None = None,
) -> Run:
    """Return the run of a specification, a dataclass of this kind; `least` has minima. Raises JobRefusedError."""
    names = {one.name for one in fields(kind)} - GIVEN  # type: ignore[arg-type]
    require_known_settings(spec, OWN | names)
    policy = policy_folder(spec.get("policy", "warm"), folder.parent)
    data = folder.parent / job_id(spec.get("dataset")) / "out" / "train.jsonl"
    if not data.is_file():
        raise JobRefusedError("The dataset's files are missing. Create a dataset, then launch the run on it.")
    check(data)
    given = {**(defaults or {}), **{name: value for name, value in spec.items() if name in names}}
    paths = {"policy": policy, "data": data, "out": folder / "out"}
    for name in least.keys() & given:
        parse_int(given, name, least[name])
    try:
        run = loads(kind, json.dumps({**given, **{name: str(path) for name, path in paths.items()}}))
    except ValueError as error:
        raise JobRefusedError(f"Invalid settings: {'; '.join(str(error).splitlines()[1:3])}") from None
    for name in above_0:
        if (value := getattr(run, name)) is not None and not value > 0:
            raise JobRefusedError(f"{name} must be more than 0, not {value}.")
    return run


def job_id(value: Any) -> str:
    try:
        return str(uuid.UUID(value))
    except (ValueError, TypeError, AttributeError):
        raise JobRefusedError(f"dataset must be the id of the job that made the dataset, not {value!r}.") from None
