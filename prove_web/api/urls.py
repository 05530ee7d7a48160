"""URLs of the API, and of the pages about it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, include, path, re_path
from django.views.decorators.cache import never_cache

from . import document_page, token_pages
from .api import NAMESPACE, api
from .errors import ApiError

TOKENS = "<slug:organisation>/members/tokens/"


def adapt_operations(patterns: Iterable[URLPattern]) -> list[URLPattern]:
    """Adapt the operations as URLs of the site: they authenticate by themselves, and nothing is cached."""
    for each in patterns:
        each.callback = never_cache(login_not_required(handle_405(each.callback)))
    return [each for each in patterns if each.name != "api-root"]


def handle_405(view: Any) -> Any:
    """Wrap a view so that its 405 response has the API's error format."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **rest: Any) -> HttpResponse:
        answer = view(request, *args, **rest)
        if answer.status_code != 405:
            return answer
        allowed = {"Allow": answer.headers["Allow"]}
        do = f"Allowed methods: {answer.headers['Allow']}."
        return ApiError(405, f"Method {request.method} is not allowed.", request.path, do, headers=allowed).answer()

    return wrapper


@login_not_required
def respond_not_found(request: HttpRequest) -> HttpResponse:
    do = "See /api/v1/docs/ for all endpoints. URLs have no trailing slash."
    return ApiError(404, "Not found.", request.path, do).answer()


operations = [*adapt_operations(api.urls[0]), re_path("", respond_not_found, name="nowhere")]
urlpatterns = [
    path("api/v1/docs/", document_page.documents, name="api-docs"),
    path("api/v1/", include((operations, NAMESPACE), namespace=NAMESPACE)),
    path("<slug:organisation>/members/tokens/", token_pages.tokens, name="api-tokens"),
    path("<slug:organisation>/members/tokens/new/", token_pages.token_new, name="api-token-new"),
    path(
        "<slug:organisation>/members/tokens/<int:api_token>/revoke/", token_pages.token_revoke, name="api-token-revoke"
    ),
]
