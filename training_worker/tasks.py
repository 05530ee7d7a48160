"""The one task of the workers: do a job."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .app import app, closing
from .jobs.parent import Attempt

DATA = Path(__file__).parents[1] / "data"


@app.task(name="training_worker.run_job")  # type: ignore[untyped-decorator]
def run_job(job: str, attempt: int, kind: str, spec: dict[str, Any]) -> None:
    """Do this attempt at this job, in a child process, and report it event by event."""
    data = Path(os.environ.get("PROVE_DATA") or DATA).expanduser().resolve()
    Attempt(app, data / "jobs", job, attempt, kind, spec, closing.is_set).run()
