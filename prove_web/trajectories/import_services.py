"""Import of an uploaded file: its options, the job that reads it, and its invalid rows."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Mapping
from io import StringIO
from typing import Any

from django.db import transaction
from django.http import Http404

from prove_web.accounts.models import Project, User
from prove_web.live.jobs import enqueue
from training_worker.datasets.importers.import_dataset import FAULTS
from training_worker.datasets.importers.reader import OURS

from . import uploads
from .import_preview import Import, Sample, holds_attempts, suggest_options
from .models import Dataset
from .uploads import Upload
from .versions import begin

UPLOAD = "upload"  # in the job's folder (training_worker/jobs/dataset_import.py)


def upload_of(project: Project, id: Any) -> Upload:
    """Return an upload of the project. Raises Http404."""
    found = uploads.find_upload(project, id)
    if found is None:
        raise Http404("This upload no longer exists. Choose the file again.")
    return found


def read_as(upload: Upload, seen: Sample, options: Mapping[str, Any]) -> Import:
    """Return the options for a file: the suggested ones, overridden by `told`."""
    begun = Import(list(seen.first), initial=suggest_options(upload, seen.first))
    return Import(list(seen.first), {name: begun[name].value() or "" for name in begun.fields} | dict(options))


def launch(project: Project, user: User, upload: Upload, form: Import, seen: Sample) -> Dataset:
    """Enqueue the job of a valid form and move the file to it. Raises Http404."""
    options, keep_good = form.options, form.cleaned_data["keep_good"]
    attempts = options.format == OURS and holds_attempts(seen)
    given = {
        "format": options.format,
        "mapped": dict(options.mapped),
        "split": options.split or "",
        "keep_good": keep_good,
    }
    spec = {"import": {**given, "attempts": attempts, "file": upload.name}}
    holds = (Dataset.ContentKind.ROLLOUTS if attempts else Dataset.ContentKind.DEMONSTRATIONS).value
    origin = {"import": upload.name, "format": options.format}
    with transaction.atomic():
        name = form.cleaned_data["name"]
        dataset = begin(project, user, name, spec, holds=holds, origin=origin)
        dataset.job.folder.mkdir(parents=True, exist_ok=True)
        try:
            shutil.move(upload.content, dataset.job.folder / UPLOAD)
        except FileNotFoundError:  # of two concurrent requests, one gets the file
            shutil.rmtree(dataset.job.folder, ignore_errors=True)
            raise Http404("This upload is already being imported. See the list of datasets.") from None
        enqueue(dataset.job)
    upload.forget()
    return dataset


def report_of(dataset: Dataset) -> bytes:
    """Return the invalid rows of an imported file as CSV: place, number, why, begins. Raises Http404."""
    try:
        return (dataset.job.folder / FAULTS).read_bytes()
    except OSError:
        raise Http404("This dataset has no import report.") from None


def faults_of(dataset: Dataset) -> list[dict[str, str]]:
    """Return the rows of that table, at most 10,000. Raises Http404."""
    return list(csv.DictReader(StringIO(report_of(dataset).decode("utf-8-sig"), newline="")))
