"""Rendering of a page, or of only the part that changes with a search."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

PAGE = 25


def page_or_part(request: HttpRequest, page: str, part: str, context: dict[str, Any]) -> HttpResponse:
    """Render the whole page, or the named part for a request that htmx made to replace it."""
    response = render(request, part if request.htmx else page, context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def paginate_rows(request: HttpRequest, rows: Any, name: str = "page", size: int = PAGE) -> Page:
    """Return the page of rows that the URL requests; the nearest one for an invalid number."""
    return Paginator(rows, size).get_page(request.GET.get(name))


def read_search_param(request: HttpRequest, name: str) -> str:
    """Return a search parameter: at most 200 characters, without NUL bytes."""
    return request.GET.get(name, "").replace("\0", "")[:200].strip()
