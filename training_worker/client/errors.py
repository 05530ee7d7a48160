"""What a site may refuse, as exceptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class StudioError(Exception):
    """The site did not do what was asked. `status` is 0 where it did not answer; `faults` are by field."""

    def __init__(self, error: str, status: int = 0, where: str = "", do: str = "", faults: Any = ()) -> None:
        super().__init__(" ".join(filter(None, (error, f"({where})" if where else "", do))))
        self.error, self.status, self.where, self.do = error, status, where, do
        self.faults: dict[str, str] = {one["where"]: one["error"] for one in faults}


class NotKnown(StudioError):
    """The site does not know who asks: the token is missing, mistyped, revoked or expired."""


class NotAllowed(StudioError):
    """The person's role or the token's scopes do not reach."""


class NotFound(StudioError):
    """There is no such thing, or none for whoever asks."""


class Conflict(StudioError):
    """It does not fit how things stand by now."""


class Invalid(StudioError):
    """What was sent cannot be taken; `faults` says why, by field."""


class TooMany(StudioError):
    """More requests in a minute than the site answers, even after waiting."""


class Broken(StudioError):
    """The site, or something before it, failed."""


class Unreachable(StudioError):
    """No answer came."""


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


def refusal(status: int, told: Any, text: str) -> StudioError:
    """The exception for an answer; `told` is its JSON, or None for what is none, such as a proxy's own page."""
    kind = KINDS.get(status, Broken if status >= 500 else StudioError)
    if not isinstance(told, dict) or "error" not in told:
        return kind(f"The site answered {status}: {text[:200].strip() or 'nothing'}", status)
    return kind(
        str(told["error"]), status, str(told.get("where", "")), str(told.get("do", "")), told.get("faults") or ()
    )
