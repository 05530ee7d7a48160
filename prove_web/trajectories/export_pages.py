"""Export of trajectories exactly as found: the choice of a format, and the file."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts import audit
from prove_web.accounts.permissions import Action, in_project
from prove_web.review.blinding import Blind

from .export_formats import FORMATS, Format, file_name
from .selection import Selection, select_trajectories


@in_project(Action.VIEW)
@require_safe
def export(request: Any) -> HttpResponse:
    """Show the export formats for the selection in the URL, or send the file if `format` is given."""
    selection = select_trajectories(request.project, request.GET, Blind(request.user, request.project))
    format = FORMATS.get(request.GET.get("format", ""))
    if format is None or selection.fault:
        context = {"selection": selection, "count": selection.rows.count(), "formats": FORMATS.values()}
        return render(request, "trajectories/export.html", context, status=400 if selection.fault else 200)
    return file_of(request, selection, format)


def file_of(request: Any, selection: Selection, format: Format) -> StreamingHttpResponse:
    """Return the selection as a streamed file."""
    about = {"project": str(request.project), "found_by": selection.origin}
    body = format.make(selection.rows, about, Blind(request.user, request.project))
    name = file_name(selection.name, format.ending)
    audit.note(None, "exported", request.project, request.organisation, trajectories=selection.name, file=name)
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return StreamingHttpResponse(body, content_type=format.type, headers=headers)
