"""Exceptions for error responses of a site."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class StudioError(Exception):
    """Failed request. `status` is 0 if the site did not answer; `faults` has the errors by field."""

    def __init__(self, error: str, status: int = 0, where: str = "", do: str = "", faults: Any = ()) -> None:
        super().__init__(" ".join(filter(None, (error, f"({where})" if where else "", do))))
        self.error, self.status, self.where, self.do = error, status, where, do
        self.faults: dict[str, str] = {one["where"]: one["error"] for one in faults}


class NotKnown(StudioError):
    """Unknown caller: the token is missing, mistyped, revoked or expired."""


class NotAllowed(StudioError):
    """Missing permission: the user's role or the token's scopes do not suffice."""


class NotFound(StudioError):
    """Missing object: it does not exist, or the caller may not see it."""


class Conflict(StudioError):
    """Conflict with the current state on the site."""


class Invalid(StudioError):
    """Invalid request; `faults` says why, by field."""


class TooMany(StudioError):
    """Rate limit exceeded, even after waiting."""


class ServerError(StudioError):
    """Failure of the site, or of a proxy in front of it."""


class Unreachable(StudioError):
    """No response from the site."""


KINDS: Mapping[int, type[StudioError]] = {
    400: Invalid,
    401: NotKnown,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: TooMany,
}


def refusal(status: int, body: Any, text: str) -> StudioError:
    """Return the exception for a response; `body` is its JSON, or None if it has none, such as a proxy's own page."""
    kind = KINDS.get(status, ServerError if status >= 500 else StudioError)
    if not isinstance(body, dict) or "error" not in body:
        return kind(f"The site answered {status}: {text[:200].strip() or 'nothing'}", status)
    return kind(
        str(body["error"]), status, str(body.get("where", "")), str(body.get("do", "")), body.get("faults") or ()
    )
