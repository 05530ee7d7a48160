"""Bringing in a file: sent in pieces, looked at row by row before anything is made, then read by a job."""

from __future__ import annotations

import shutil
from typing import Any

from django.db import transaction
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from prove_web.accounts.permissions import Action, in_project
from prove_web.live.jobs import enqueue
from training_worker.prove.importers.imported import FAULTS
from training_worker.prove.importers.incoming import OURS
from training_worker.prove.importers.packed import MOST_PACKED

from . import uploads
from .models import Dataset
from .previewing import Import, Sample, holds_attempts, previewed, sample, suggested
from .uploads import PIECE, NotTaken, Upload
from .versions import begin

UPLOAD = "upload"  # in the job's folder (training_worker/jobs/importing.py)


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def import_new(request: Any) -> HttpResponse:
    """Choose a file. Its pieces follow by themselves; without script a small one comes with the form."""
    context = {"most": MOST_PACKED, "piece": PIECE}
    if request.method != "POST":
        return render(request, "trajectories/import_new.html", context)
    sent = request.FILES.get("file")
    name, size = (sent.name, sent.size) if sent else (request.POST.get("name", ""), request.POST.get("size", ""))
    try:
        if not str(size).isdecimal() or len(str(size)) > 15:
            raise NotTaken("No file was chosen. Choose one.")
        upload = uploads.begin(request.project, name, int(size))
        if sent:
            upload.add(0, sent.chunks())
    except (NotTaken, OSError) as error:
        why = told(error)
        if "size" in request.POST:
            return JsonResponse({"error": why}, status=422)
        return render(request, "trajectories/import_new.html", context | {"error": why}, status=422)
    parts = [*request.project.path, upload.id]
    if sent:
        return redirect("import-preview", *parts)
    return JsonResponse({"piece": reverse("import-piece", args=parts), "then": reverse("import-preview", args=parts)})


@in_project(Action.LAUNCH)
@require_POST
def import_piece(request: Any, upload: Any) -> HttpResponse:
    """Take the next piece, the bytes from `?at=` on; told how much is here, the sender can go on after a break."""
    found = one_of(request, upload)
    at, length = request.GET.get("at", ""), request.headers.get("Content-Length", "")
    if not (at + length).isdecimal() or len(at + length) > 30 or not 0 < int(length or 0) <= PIECE or not at:
        error = f"A piece says where it begins (?at=) and has 1 to {PIECE:,} bytes."
        return JsonResponse({"error": error, "received": found.received}, status=400)
    try:
        received = found.add(int(at), iter(lambda: request.read(1 << 16), b""))
    except (NotTaken, OSError) as error:
        return JsonResponse({"error": told(error), "received": found.received}, status=422)
    return JsonResponse({"received": received})


def told(error: Exception) -> str:
    """Why something was not taken, and what to do."""
    if isinstance(error, OSError):
        return f"The site cannot keep it ({error.strerror or 'the connection broke'}). Try again, or ask who runs it."
    return str(error)


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def import_preview(request: Any, upload: Any) -> HttpResponse:
    """The first rows as they would come in; asked to, have a job import them all."""
    found = one_of(request, upload)
    if not found.whole:
        raise Http404(f"{found.received:,} of {found.size:,} bytes are here.")
    seen = sample(found)
    given = request.POST or (request.GET if "format" in request.GET else None)
    form = Import(list(seen.first), given, initial=suggested(found, seen.first))
    form.full_clean() if given else None
    if request.method == "POST" and form.is_valid() and not seen.problem:
        return redirect(launch(request, found, form, seen))
    asked = form.asked if form.is_bound and form.is_valid() else None
    if asked is None and not form.is_bound:
        asked = first_asked(form, seen)
    rows = previewed(seen, asked) if asked else []
    counts = {"bad": sum(row.what == "bad" for row in rows), "all": len(rows)}
    context = {"upload": found, "form": form, "seen": seen, "rows": rows, "counts": counts}
    failed = seen.problem or (request.method == "POST" and form.errors)
    return render(request, "trajectories/import_preview.html", context, status=422 if failed else 200)


def first_asked(form: Import, seen: Sample) -> Any:
    """How the file would be read if nothing is changed on the form."""
    data = {name: form[name].value() or "" for name in form.fields}
    begun = Import(list(seen.first), data)
    return begun.asked if begun.is_valid() else None


def launch(request: Any, upload: Upload, form: Import, seen: Sample) -> Dataset:
    """Queue the job; the file becomes its own."""
    asked, keep_good = form.asked, form.cleaned_data["keep_good"]
    attempts = asked.format == OURS and holds_attempts(seen)
    given = {"format": asked.format, "mapped": dict(asked.mapped), "split": asked.split or "", "keep_good": keep_good}
    spec = {"import": {**given, "attempts": attempts, "file": upload.name}}
    holds = (Dataset.Holds.ROLLOUTS if attempts else Dataset.Holds.DEMONSTRATIONS).value
    origin = {"import": upload.name, "format": asked.format}
    with transaction.atomic():
        name = form.cleaned_data["name"]
        dataset = begin(request.project, request.user, name, spec, holds=holds, origin=origin)
        dataset.job.folder.mkdir(parents=True, exist_ok=True)
        try:
            shutil.move(upload.content, dataset.job.folder / UPLOAD)
        except FileNotFoundError:  # of two who ask at once, one has it
            shutil.rmtree(dataset.job.folder, ignore_errors=True)
            raise Http404("This upload is being imported already. See the list of data sets.") from None
        enqueue(dataset.job)
    upload.forget()
    return dataset


@in_project(Action.VIEW)
@require_safe
def import_faults(request: Any, dataset: int) -> HttpResponse:
    """The rows of an imported file that were bad, as a table to take away."""
    found = get_object_or_404(Dataset.objects.select_related("job"), project=request.project, number=dataset)
    try:
        report = (found.job.folder / FAULTS).read_bytes()
    except OSError:
        raise Http404("There is no report on this data set's import.") from None
    headers = {"Content-Disposition": f'attachment; filename="faults-{dataset}.csv"'}
    return HttpResponse(report, content_type="text/csv; charset=utf-8", headers=headers)


def one_of(request: Any, upload: Any) -> Upload:
    """Raises Http404."""
    found = uploads.found(request.project, upload)
    if found is None:
        raise Http404("This upload is gone. Choose the file again.")
    return found
