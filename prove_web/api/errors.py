"""Errors of the API: what happened, where, and what to do; never a traceback."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, RawPostDataException
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from prove_web.accounts.second_factor import DO, SecondFactorNeeded
from prove_web.core.database_busy import RETRY_AFTER, SENTENCE, is_busy
from prove_web.supervisor.checks import FULL, less_free

log = logging.getLogger(__name__)
DOCUMENTS = "/api/v1/docs/"
WHERE = {"body": "the body", "query": "the query", "path": "the path", "header": "the headers"}


class ApiError(Exception):
    """Error response.

    `faults` are all errors of the input by field; `where` is the first of them.
    """

    def __init__(
        self,
        status: int,
        error: str,
        where: str = "",
        do: str = "",
        faults: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(error)
        self.status, self.error, self.where, self.do = status, error, where, do
        self.faults, self.headers = dict(faults or {}), dict(headers or {})

    def answer(self) -> HttpResponse:
        body: dict[str, Any] = {"error": self.error, "where": self.where, "do": self.do}
        if self.faults:
            body["faults"] = [{"where": where, "error": error} for where, error in self.faults.items()]
        return JsonResponse(body, status=self.status, headers=self.headers)


def ill_filled(errors: Mapping[str, Any], body: str = "body") -> ApiError:
    """Return the error for an invalid form; `errors` as in Django's forms."""
    faults = {
        body if field == "__all__" else f"{body}.{field}": " ".join(map(str, each)) for field, each in errors.items()
    }
    where, error = next(iter(faults.items()))
    return ApiError(422, error, where, "Change these fields and send the request again.", faults)


def of_validation(request: HttpRequest, error: ValidationError) -> HttpResponse:
    faults = {place(each["loc"]): str(each["msg"]) for each in error.errors}
    where, first = next(iter(faults.items()))
    do = f"Change these fields and send the request again; {DOCUMENTS} lists the allowed values."
    return ApiError(422, first, where, do, faults).answer()


def place(loc: Sequence[Any]) -> str:
    """Return the place in the input, as in `ill_filled`: a property of the body without our name of the body."""
    parts = [*map(str, loc)]
    return ".".join(parts[1:] if parts[:2] == ["body", "body"] else parts)


def of_http(request: HttpRequest, error: HttpError) -> HttpResponse:
    """Handle HTTP errors, such as a body that can't be parsed, whose reason is the cause."""
    if isinstance(error.__cause__, ApiError):
        return error.__cause__.answer()
    do = f"Send JSON as described in {DOCUMENTS}." if error.status_code == 400 else ""
    return ApiError(error.status_code, f"{str(error).rstrip('.')}.", do=do).answer()


def of_stranger(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    given = bool(request.headers.get("Authorization"))
    text = "This token is not valid." if given else "Authentication is required."
    do = (
        "It may be revoked, expired or mistyped, or its user left the team. Create a new one on the team's token page."
        if given
        else "Send `Authorization: Bearer TOKEN` with a token from the team's token page, or sign in."
    )
    return ApiError(
        401, text, "Authorization", do, headers={"WWW-Authenticate": 'Bearer realm="PROVE Studio"'}
    ).answer()


def of_missing(request: HttpRequest, error: Http404) -> HttpResponse:
    text = str(error) if error.args and isinstance(error.args[0], str) else ""
    text = "" if text.startswith("No ") and text.endswith("matches the given query.") else text
    do = "Check the names and numbers in the URL, and that you have access to the team and project."
    return ApiError(404, text or "Not found.", request.path, do).answer()


def of_denial(request: HttpRequest, error: PermissionDenied) -> HttpResponse:
    do = DO if isinstance(error, SecondFactorNeeded) else "Ask an owner of the team for the required role."
    return ApiError(403, str(error) or "Permission denied.", request.path, do).answer()


def of_size(request: HttpRequest, error: SuspiciousOperation) -> HttpResponse:
    if isinstance(error, RequestDataTooBig):
        return ApiError(413, "The request body is too large.", "body", "Send less data per request.").answer()
    return ApiError(400, "The request is malformed.", "", f"See {DOCUMENTS}.").answer()


def of_form(request: HttpRequest, error: RawPostDataException) -> HttpResponse:
    return not_json().answer()


def too_many(seconds: int) -> ApiError:
    text = "Rate limit exceeded: too many requests per minute."
    return ApiError(429, text, "Authorization", f"Wait {seconds} seconds.", headers={"Retry-After": str(seconds)})


def not_json() -> ApiError:
    do = "Send JSON, with `Content-Type: application/json`."
    return ApiError(415, "The content type of the body is not supported.", "Content-Type", do)


def of_refused(request: HttpRequest, error: ApiError) -> HttpResponse:
    return error.answer()


def of_database(request: HttpRequest, error: OperationalError) -> HttpResponse:
    if not is_busy(error):
        return of_bug(request, error)
    do = f"Send the request again in {RETRY_AFTER} seconds."
    return ApiError(503, SENTENCE, request.path, do, headers={"Retry-After": str(RETRY_AFTER)}).answer()


def of_bug(request: HttpRequest, error: Exception) -> HttpResponse:
    log.error("The API failed", exc_info=error)
    number = getattr(request, "request_id", "")
    do = f"This is a server error. The administrator finds it in the log as request {number}."
    if less_free(settings.PROVE_DATA, FULL):
        full = "Nothing was changed. Ask the administrator to free disk space, then send the request again."
        return ApiError(507, "The disk of this site is full.", request.path, full).answer()
    return ApiError(500, "Internal server error.", request.path, do).answer()


def explain(api: NinjaAPI) -> None:
    """Register the handlers that turn every exception into such a response."""
    for kind, handler in (
        (Exception, of_bug),
        (OperationalError, of_database),
        (ApiError, of_refused),
        (ValidationError, of_validation),
        (HttpError, of_http),
        (AuthenticationError, of_stranger),
        (Http404, of_missing),
        (PermissionDenied, of_denial),
        (SuspiciousOperation, of_size),
        (RawPostDataException, of_form),
    ):
        api.add_exception_handler(kind, handler)
