"""Audit log page for the owners of a team."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from ..permissions import Action, in_organisation
from .filters import Narrow, as_csv, line

PER_PAGE = 50


@in_organisation(Action.MANAGE)
@require_GET
def audit(request: Any) -> HttpResponse:
    """Show a page of entries, newest first."""
    form = Narrow(request.GET, request.organisation)
    page = Paginator(form.filter_entries(), PER_PAGE).get_page(request.GET.get("page"))
    narrowed = any(form.cleaned_data.values())
    context = {"form": form, "page": page, "lines": [line(one) for one in page], "narrowed": narrowed}
    return render(request, "accounts/audit.html", context)


@in_organisation(Action.MANAGE)
@require_GET
def export(request: Any) -> StreamingHttpResponse:
    """Export all matching entries as CSV."""
    rows = Narrow(request.GET, request.organisation).filter_entries()
    headers = {"Content-Disposition": f'attachment; filename="audit-{request.organisation.slug}.csv"'}
    return StreamingHttpResponse(as_csv(rows), content_type="text/csv; charset=utf-8", headers=headers)
