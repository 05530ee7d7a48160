"""The queue, the workers that serve it, and how another machine becomes one."""

from __future__ import annotations

urlpatterns: list = []
