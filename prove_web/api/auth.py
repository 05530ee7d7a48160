"""Authentication of API requests: a token, or a signed-in browser session with a CSRF token."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from math import ceil
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from ninja.security import APIKeyCookie, HttpBearer
from ninja.utils import check_csrf

from .errors import ApiError, too_many
from .models import ApiToken
from .tokens import authenticate_api_token

# Rate limit: requests per minute of a token, or of a signed-in user.

WINDOW = 60.0  # seconds
MOST_KNOWN = 10_000  # tokens and users that are counted at the same time


class Counter:
    """Request counts by client, in minutes that start with a first request. They are local to this process.

    That is enough to protect others from a runaway loop; it is not accounting.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.counted: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def spend(self, who: str) -> int:
        """Count a request. Return the seconds to wait if there were too many, else 0."""
        now = time.monotonic()
        with self.lock:
            began, count = self.counted.pop(who, (now, 0))
            began, count = (now, 0) if now - began >= WINDOW else (began, count)
            allowed = count < settings.API_RATE
            self.counted[who] = (began, count + allowed)
            while len(self.counted) > MOST_KNOWN:
                self.counted.popitem(last=False)
        return 0 if allowed else max(1, ceil(began + WINDOW - now))


requests = Counter()


Guard = Callable[[HttpRequest], None]


def welcome(request: HttpRequest) -> None:
    """Accept every authenticated client."""


class Bearer(HttpBearer):
    """Token in the Authorization header; the request then runs as the token's user."""

    def __init__(self, guard: Guard = welcome) -> None:
        super().__init__()
        self.guard = guard

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:
        found = authenticate_api_token(token.strip())
        if found is None:
            return None
        request.user = found.user
        let_in(request, found, f"token {found.hash}", self.guard)
        return found


class Session(APIKeyCookie):
    """Browser session. A request that writes needs the CSRF token, like every form of the site."""

    param_name = settings.SESSION_COOKIE_NAME

    def __init__(self, guard: Guard = welcome) -> None:
        super().__init__()
        self.guard = guard

    def __call__(self, request: HttpRequest) -> Any:
        if request.headers.get("Authorization") or not request.user.is_authenticated:
            return None
        if check_csrf(request):
            do = "Send the page's CSRF token in the X-CSRFToken header, or use an API token."
            raise ApiError(403, "The CSRF token is missing or invalid.", "X-CSRFToken", do)
        let_in(request, request.user, f"user {request.user.pk}", self.guard)
        return request.user

    def authenticate(self, request: HttpRequest, key: str | None) -> Any:
        raise NotImplementedError  # __call__ has done it


def let_in(request: HttpRequest, who: Any, called: str, guard: Guard) -> None:
    """Admit a client. Raises Refused, Http404 or PermissionDenied before the request body is read."""
    request.auth = who
    if seconds := requests.spend(called):
        raise too_many(seconds)
    guard(request)


def build_authenticators(guard: Guard = welcome) -> list[Any]:
    """Return both ways of authentication, with the same guard."""
    return [Bearer(guard), Session(guard)]
