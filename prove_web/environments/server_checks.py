"""Invariant checks of a server, run in a child process, with their stored result."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Max, Q
from django.utils import timezone

from mcp_servers.catalogue import fingerprint
from mcp_servers.testing.verify import LAWS

from .models import ServerCheck

SECONDS = 300  # for one server, whose check takes about one second


def create_check(server: str) -> ServerCheck:
    """Create a check to run. Raises KeyError for a server that is not in the catalogue."""
    return ServerCheck.objects.create(server=server, fingerprint=fingerprint((server,)))


def run(check: ServerCheck) -> None:
    """Run the check and store its result, or the reason why there is none."""
    words = [sys.executable, "-m", "mcp_servers.testing.verify", check.server]
    try:
        child = subprocess.run(
            words, cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        check.found = dict(json.loads(child.stdout)) if child.stdout else {}
        check.error = "" if check.found else f"The check ended without a result: {child.stderr.strip()[-500:]}"
    except subprocess.TimeoutExpired:
        check.error = f"The check did not end within {SECONDS} seconds."
    except (OSError, ValueError) as error:
        check.error = f"The check could not be run: {error}"
    check.ok = bool(check.found.get("ok")) if check.found else None
    check.fingerprint = str(check.found.get("fingerprint", check.fingerprint))
    check.ended_at = timezone.now()
    check.save()


@dataclass(frozen=True)
class Health:
    """Health of a server: its newest check with a result, and its newest check, which may be running or have failed."""

    server: str
    known: ServerCheck | None
    newest: ServerCheck | None

    @property
    def state(self) -> str:
        """`never`, `broken`, `stale` (its behaviour has changed since) or `kept`."""
        if self.known is None:
            return "never"
        if not self.known.ok:
            return "broken"
        return "passed" if self.known.fingerprint == fingerprint((self.server,)) else "stale"

    @property
    def at_work(self) -> bool:
        return self.newest is not None and self.newest.at_work

    @property
    def error(self) -> str:
        return self.newest.error if self.newest else ""

    @property
    def laws(self) -> list[tuple[str, int]]:
        """The invariants in words, each with the number of its violations."""
        counts: dict[str, Any] = self.known.found.get("laws", {}) if self.known else {}
        return [(title, counts[law]) for law, title in LAWS.items() if law in counts]

    @property
    def rows(self) -> dict[str, int]:
        """The rows of a world by size; empty before the first check."""
        return dict(self.known.found.get("rows", {})) if self.known else {}


def health(servers: Iterable[str]) -> dict[str, Health]:
    """Return the health of each server; two queries."""
    names = list(servers)
    rows = ServerCheck.objects.filter(server__in=names).order_by()
    newest = rows.values("server").annotate(newest=Max("pk"), known=Max("pk", filter=Q(ok__isnull=False)))
    which = {row["server"]: (row["known"], row["newest"]) for row in newest}
    found = ServerCheck.objects.in_bulk([pk for pair in which.values() for pk in pair if pk])
    return {
        name: Health(name, *(found.get(pk) if pk else None for pk in which.get(name, (None, None)))) for name in names
    }
