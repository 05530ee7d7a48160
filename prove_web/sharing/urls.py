"""Links by which others may read one thing for a while, and what is deleted after a grace period."""

from __future__ import annotations

urlpatterns: list = []
