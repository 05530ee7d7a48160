"""Rules that watch runs, and what they found."""

from __future__ import annotations

urlpatterns: list = []
