"""Page that documents every operation of the API, rendered from its OpenAPI document."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import signed_in

from .api import document
from .openapi_docs import group_operations


@signed_in
@require_safe
def documents(request: HttpRequest) -> HttpResponse:
    sections = group_operations(document(), request.build_absolute_uri("/").rstrip("/"))
    return render(request, "api/documents.html", {"sections": sections})
