"""Browsers in which a user is signed in: recorded at sign-in and every ten minutes, listed, and signed out."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from allauth.usersessions.models import UserSession
from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.contrib.sessions.models import Session
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from ..audit.actor import address
from ..models import User
from .signals import log_account_event

EVERY = timedelta(minutes=10)  # precision of the last time
MOST_KNOWN = 10_000  # sessions that a process remembers as recorded
MOST_LISTED = 100
NOWHERE = "0.0.0.0"  # address of a client on a socket file
BROWSERS = (("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
SYSTEMS = (
    *(("Windows", "Windows"), ("Android", "Android"), ("iPhone", "an iPhone"), ("iPad", "an iPad")),
    *(("Mac OS X", "a Mac"), ("CrOS", "ChromeOS"), ("Linux", "Linux")),
)
METHODS_KEY = "account_authentication_methods"  # session key for allauth's methods of the sign-in


class RecentSessions:
    """Sessions that this process recorded recently."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.at: OrderedDict[str, float] = OrderedDict()

    def due(self, key: str) -> bool:
        """Return whether to record a session now; after that it is not due for a while."""
        now = time.monotonic()
        with self.lock:
            if now - self.at.get(key, -EVERY.total_seconds()) < EVERY.total_seconds():
                return False
            self.at[key] = now
            self.at.move_to_end(key)
            while len(self.at) > MOST_KNOWN:
                self.at.popitem(last=False)
        return True


noted = RecentSessions()


def record_sessions(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Return middleware that records the sessions of users."""

    def handle_request(request: Any) -> HttpResponse:
        key = request.session.session_key
        if key and noted.due(key) and request.user.is_authenticated:
            note(request, request.user)
        return get_response(request)

    return handle_request


def note(request: Any, user: User) -> None:
    values = {
        "user": user,
        "ip": address(request.META.get("REMOTE_ADDR", "")) or NOWHERE,
        "user_agent": request.META.get("HTTP_USER_AGENT", "")[:200],
        "last_seen_at": timezone.now(),
    }
    UserSession.objects.update_or_create(session_key=request.session.session_key, defaults=values)


@receiver(user_logged_in)
def signed_in(request: Any, user: User, **rest: Any) -> None:
    """Log a sign-in for owners of the user's teams; a program that signs somebody in counts as no browser."""
    if request is None or not request.session.session_key:
        return
    noted.due(request.session.session_key)
    if "REMOTE_ADDR" in request.META:
        note(request, user)
        log_account_event(user, "signed in as", by=describe_sign_in(request.session.get(METHODS_KEY, ())))


def describe_sign_in(records: Iterable[dict[str, Any]]) -> str:
    """Return the steps of signing in, in words, from allauth's record, which has none for a password of our form."""
    known = list(records)
    if any(one.get("passwordless") for one in known):
        return "passkey alone"
    methods = {one.get("method") for one in known}
    first = "another site" if "socialaccount" in methods else "password"
    return f"{first} and second factor" if "mfa" in methods else first


@receiver(user_logged_out)
def signed_out(request: Any, user: User | None, **rest: Any) -> None:
    if request is not None and request.session.session_key:
        UserSession.objects.filter(session_key=request.session.session_key).delete()


@dataclass(frozen=True)
class Place:
    """A browser in which a user is signed in."""

    session: UserSession
    device: str
    here: bool

    @property
    def address(self) -> str:
        return "" if self.session.ip == NOWHERE else str(self.session.ip)


def places(user: User, here: str | None) -> list[Place]:
    """Return where this user is signed in: this browser first, then by last use."""
    found = list(UserSession.objects.filter(user=user).order_by("-last_seen_at")[:MOST_LISTED])
    keys = [one.session_key for one in found]
    open_ones = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    good = {one.session_key for one in open_ones if still_good(one, user)}
    listed = [Place(one, device(one.user_agent), one.session_key == here) for one in found if one.session_key in good]
    return sorted(listed, key=lambda place: not place.here)


def open_ones(keys: Iterable[str]) -> set[str]:
    """Return those of these sessions that are neither ended nor expired."""
    rows = Session.objects.filter(session_key__in=set(keys), expire_date__gt=timezone.now())
    return set(rows.values_list("session_key", flat=True))


def still_good(session: Session, user: User) -> bool:
    """Return whether the session was started with the user's current password."""
    return constant_time_compare(session.get_decoded().get(HASH_SESSION_KEY, ""), user.get_session_auth_hash())


def device(agent: str) -> str:
    """Return a browser and its system in words."""
    browser = next((name for mark, name in BROWSERS if mark in agent), "Unknown client" if agent else "Unknown device")
    system = next((name for mark, name in SYSTEMS if mark in agent), "")
    return f"{browser} on {system}" if system else browser


def end(user: User, here: str | None, only: str | None = None) -> int:
    """Sign a user out everywhere but here, or in the one session of this id. Return how many sessions ended."""
    rows = UserSession.objects.filter(user=user).exclude(session_key=here or "")
    rows = rows.filter(pk=only) if only is not None else rows
    keys = list(rows.values_list("session_key", flat=True))
    Session.objects.filter(session_key__in=keys).delete()
    UserSession.objects.filter(session_key__in=keys).delete()
    return len(keys)
