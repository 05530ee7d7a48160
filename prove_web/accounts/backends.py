"""Signing in by user name or by e-mail address."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from .models import User


class NameOrAddress(ModelBackend):
    """A text with an @ that is nobody's user name is tried as an e-mail address, in any case."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        if username and "@" in username and not User.objects.filter(username=username).exists():
            found = User.objects.filter(email__iexact=username).first()
            username = found.username if found else username
        return super().authenticate(request, username=username, password=password, **kwargs)
