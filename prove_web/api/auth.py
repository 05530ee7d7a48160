"""Who asks: a program with a token, or a browser that is signed in and proves that the page was ours."""

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

from .errors import Refused, too_many
from .models import ApiToken
from .tokens import admitted

# How many requests a token, or a person signed in, may make in a minute.

WINDOW = 60.0  # seconds
MOST_KNOWN = 10_000  # whose requests are counted at once


class Counter:
    """Requests by who made them, in minutes that begin with a first one. It counts in this process alone.

    That is enough to keep a loop gone wild from the others' pages; it is no accounting.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.counted: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def spend(self, who: str) -> int:
        """Count one request; the seconds to wait for it where there were too many, else 0."""
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
    """The guard of what everyone may ask who is known."""


class Bearer(HttpBearer):
    """A token of ours in the header Authorization; the request is then its person's."""

    def __init__(self, guard: Guard = welcome) -> None:
        super().__init__()
        self.guard = guard

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:
        found = admitted(token.strip())
        if found is None:
            return None
        request.user = found.user
        let_in(request, found, f"token {found.hash}", self.guard)
        return found


class Session(APIKeyCookie):
    """The browser's session. What does more than read needs the CSRF token, as every form of the site does."""

    param_name = settings.SESSION_COOKIE_NAME

    def __init__(self, guard: Guard = welcome) -> None:
        super().__init__()
        self.guard = guard

    def __call__(self, request: HttpRequest) -> Any:
        if request.headers.get("Authorization") or not request.user.is_authenticated:
            return None
        if check_csrf(request):
            do = "Send the page's CSRF token in the X-CSRFToken header, or use an API token."
            raise Refused(403, "The CSRF token is missing or invalid.", "X-CSRFToken", do)
        let_in(request, request.user, f"user {request.user.pk}", self.guard)
        return request.user

    def authenticate(self, request: HttpRequest, key: str | None) -> Any:
        raise NotImplementedError  # __call__ has done it


def let_in(request: HttpRequest, who: Any, called: str, guard: Guard) -> None:
    """Raises Refused, Http404 or PermissionDenied, before anything that was sent is looked at."""
    request.auth = who
    if seconds := requests.spend(called):
        raise too_many(seconds)
    guard(request)


def either(guard: Guard = welcome) -> list[Any]:
    """The two ways in, both under the same guard."""
    return [Bearer(guard), Session(guard)]
