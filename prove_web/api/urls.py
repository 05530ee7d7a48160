"""The site's API for programs, and the tokens they use it with."""

from __future__ import annotations

urlpatterns: list = []
