"""Pages that import runs from another tracker's files and export them to its format."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from prove_web.accounts import audit
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.core.body_limit import MOST
from training_worker.trackers.safe_zip import is_zip

from ..detail import run_of
from . import TRACKERS as FORMATS
from .limits import InvalidRunData
from .trackers import bring, read_runs, write_run

ALONE = {"tensorboard": "events.out.tfevents.sent", "wandb": "run-sent.wandb"}  # name given to a single uploaded file
MOST_REMARKED = 3  # runs whose remarks are shown as messages; the others have them only in their notes
LARGEST_ANSWER = 32 << 20  # bytes of the parsed runs of one upload
LARGEST = MOST - (1 << 20)  # bytes of a file, so that the whole request fits


class ImportForm(forms.Form):
    format = forms.ChoiceField(label="Tracker", choices=[*FORMATS.items()])
    file = forms.FileField(
        label="File",
        help_text=f"A zip of the tracker's folder, or a single TensorBoard or Weights & Biases file; at most "
        f"{LARGEST >> 20} MB.",
    )

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > LARGEST:
            raise forms.ValidationError(
                f"The file has {file.size:,} bytes; the limit is {LARGEST:,}. Import larger files on the server with "
                "manage.py import_run."
            )
        return file


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def run_import(request: ProjectRequest) -> HttpResponse:
    """Import the uploaded runs, all or none; without an upload show the form."""
    form = ImportForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        format = form.cleaned_data["format"]
        try:
            with tempfile.TemporaryDirectory(prefix="prove-import-") as folder:
                alone = Path(folder, ALONE.get(format, "file"))
                alone.write_bytes(form.cleaned_data["file"].read())
                found = read_runs(format, alone if is_zip(alone) else Path(folder), LARGEST_ANSWER)
            made = [bring(request.project, request.user, one, format) for one in found]
        except InvalidRunData as why:
            form.add_error("file", str(why))
        else:
            news = [run for run, new in made if new]
            messages.success(request, describe_import(len(news), len(made)))
            for one, (run, _) in [pair for pair in zip(found, made, strict=True) if pair[0].remarks][:MOST_REMARKED]:
                messages.warning(request, f"Run {run.number}: {' '.join(one.remarks)}")
            return redirect(made[0][0]) if len(made) == 1 else redirect("runs", *request.project.path)
    return render(request, "experiments/run_import.html", {"form": form}, status=422 if form.errors else 200)


def describe_import(new: int, all_of_them: int) -> str:
    known = all_of_them - new
    found = f"{new} run{'' if new == 1 else 's'} imported." if new else "No new runs."
    return f"{found} {known} already imported." if known else found


@in_project(Action.VIEW)
@require_safe
def run_take(request: ProjectRequest, run: int, tracker: str) -> HttpResponse:
    """Download a run as a zip in another tracker's format."""
    if tracker not in FORMATS:
        raise Http404(f"Unknown tracker “{tracker[:40]}”. Available: {', '.join(FORMATS)}.")
    found = run_of(request.project, run)
    with tempfile.TemporaryDirectory(prefix="prove-export-") as folder:
        target = Path(folder, "run")
        target.mkdir()
        try:
            write_run(found, tracker, target)
        except InvalidRunData as why:
            return HttpResponse(f"Run {run} cannot be exported: {why}", status=422, content_type="text/plain")
        packed = Path(shutil.make_archive(str(Path(folder, "packed")), "zip", target)).read_bytes()
    name = f"run-{run}-{tracker}.zip"
    audit.note(None, "exported", found, request.organisation, file=name)
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(packed, content_type="application/zip", headers=headers)
