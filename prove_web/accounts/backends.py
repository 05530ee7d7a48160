"""Authentication by user name or e-mail address; wrong passwords are counted by account."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from .models import User

MOST = 254  # characters of a name that are considered


class NameOrAddress(ModelBackend):
    """Backend that tries a text with an @ that is no user name as an e-mail address, in any case."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        return super().authenticate(request, username=user_name(username), password=password, **kwargs)


def user_name(typed: str | None) -> str | None:
    """Return the user name of the account that the text identifies, or the text itself."""
    if typed and "@" in typed and not User.objects.filter(username=typed).exists():
        found = User.objects.filter(email__iexact=typed).first()
        return found.username if found else typed
    return typed


def counted_name(request: HttpRequest, credentials: dict[str, Any] | None = None) -> str:
    """Return the name under which a wrong password is counted: the same for every spelling of an account's name."""
    typed = credentials.get("username") if credentials else request.POST.get("username")
    return (user_name(typed) or "")[:MOST].casefold()
