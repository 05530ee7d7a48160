"""Import of a file: uploaded in chunks, previewed row by row, then read by a job."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from prove_web.accounts.permissions import Action, in_project
from prove_web.core.disk_guard import NoDiskSpace
from training_worker.datasets.importers.archive import MOST_PACKED

from . import uploads
from .import_preview import Import, preview_rows, sample, suggest_options
from .import_services import launch, read_as, report_of, upload_of
from .models import Dataset
from .uploads import PIECE, NotTaken


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def import_new(request: Any) -> HttpResponse:
    """Choose a file. A script sends its chunks; without script a small file comes with the form."""
    context = {"most": MOST_PACKED, "piece": PIECE}
    if request.method != "POST":
        return render(request, "trajectories/import_new.html", context)
    sent = request.FILES.get("file")
    name, size = (sent.name, sent.size) if sent else (request.POST.get("name", ""), request.POST.get("size", ""))
    try:
        if not str(size).isdecimal() or len(str(size)) > 15:
            raise NotTaken("No file was selected. Select one.")
        upload = uploads.begin(request.project, name, int(size))
        if sent:
            upload.add(0, sent.chunks())
    except (NotTaken, NoDiskSpace, OSError) as error:
        why = describe_error(error)
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
    """Store the next chunk, the bytes from `?at=` on.

    The response has the bytes received, so that the client can resume.
    """
    found = upload_of(request.project, upload)
    at, length = request.GET.get("at", ""), request.headers.get("Content-Length", "")
    if not (at + length).isdecimal() or len(at + length) > 30 or not 0 < int(length or 0) <= PIECE or not at:
        error = f"A chunk needs its offset (?at=) and 1 to {PIECE:,} bytes."
        return JsonResponse({"error": error, "received": found.received}, status=400)
    try:
        received = found.add(int(at), iter(lambda: request.read(1 << 16), b""))
    except (NotTaken, NoDiskSpace, OSError) as error:
        return JsonResponse({"error": describe_error(error), "received": found.received}, status=422)
    return JsonResponse({"received": received})


def describe_error(error: Exception) -> str:
    """Return why an upload failed, and what to do."""
    if isinstance(error, OSError):
        return f"The file cannot be stored ({error.strerror or 'connection lost'}). Retry or contact the administrator."
    return str(error)


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def import_preview(request: Any, upload: Any) -> HttpResponse:
    """Preview the first rows; on POST, enqueue a job that imports all of them."""
    found = upload_of(request.project, upload)
    if not found.complete:
        raise Http404(f"Upload incomplete: {found.received:,} of {found.size:,} bytes received.")
    seen = sample(found)
    given = request.POST or (request.GET if "format" in request.GET else None)
    form = Import(list(seen.first), given, initial=suggest_options(found, seen.first))
    form.full_clean() if given else None
    if request.method == "POST" and form.is_valid() and not seen.problem:
        return redirect(launch(request.project, request.user, found, form, seen))
    options = form.options if form.is_bound and form.is_valid() else None
    if options is None and not form.is_bound:
        begun = read_as(found, seen, {})
        options = begun.options if begun.is_valid() else None
    rows = preview_rows(seen, options) if options else []
    counts = {"bad": sum(row.what == "bad" for row in rows), "all": len(rows)}
    context = {"upload": found, "form": form, "seen": seen, "rows": rows, "counts": counts}
    failed = seen.problem or (request.method == "POST" and form.errors)
    return render(request, "trajectories/import_preview.html", context, status=422 if failed else 200)


@in_project(Action.VIEW)
@require_safe
def import_faults(request: Any, dataset: int) -> HttpResponse:
    """Return the invalid rows of an imported file as CSV."""
    found = get_object_or_404(Dataset.objects.select_related("job"), project=request.project, number=dataset)
    headers = {"Content-Disposition": f'attachment; filename="faults-{dataset}.csv"'}
    return HttpResponse(report_of(found), content_type="text/csv; charset=utf-8", headers=headers)
