"""The laws of a server, run in a process of their own, and their result as it is stored."""

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
from mcp_servers.verify import LAWS

from .models import ServerCheck

SECONDS = 300  # for one server, whose check takes about one


def create_check(server: str) -> ServerCheck:
    """A check to be run. Raises KeyError for a server that is not in the catalogue."""
    return ServerCheck.objects.create(server=server, fingerprint=fingerprint((server,)))


def run(check: ServerCheck) -> None:
    """Run it and store what came of it, be it only why nothing did."""
    words = [sys.executable, "-m", "mcp_servers.verify", check.server]
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
    """What is known of a server: its newest check that has a result, and one that is being run or failed to."""

    server: str
    known: ServerCheck | None
    newest: ServerCheck | None

    @property
    def state(self) -> str:
        """`never`, `broken`, `stale` (its behaviour is another since) or `kept`."""
        if self.known is None:
            return "never"
        if not self.known.ok:
            return "broken"
        return "kept" if self.known.fingerprint == fingerprint((self.server,)) else "stale"

    @property
    def at_work(self) -> bool:
        return self.newest is not None and self.newest.at_work

    @property
    def error(self) -> str:
        return self.newest.error if self.newest else ""

    @property
    def laws(self) -> list[tuple[str, int]]:
        """Each law in words, and how often it was broken."""
        told: dict[str, Any] = self.known.found.get("laws", {}) if self.known else {}
        return [(title, told[law]) for law, title in LAWS.items() if law in told]

    @property
    def rows(self) -> dict[str, int]:
        """Rows of a world by its size; empty before the first check."""
        return dict(self.known.found.get("rows", {})) if self.known else {}


def health(servers: Iterable[str]) -> dict[str, Health]:
    """Of each server; two queries."""
    names = list(servers)
    rows = ServerCheck.objects.filter(server__in=names).order_by()
    newest = rows.values("server").annotate(newest=Max("pk"), known=Max("pk", filter=Q(ok__isnull=False)))
    which = {row["server"]: (row["known"], row["newest"]) for row in newest}
    found = ServerCheck.objects.in_bulk([pk for pair in which.values() for pk in pair if pk])
    return {
        name: Health(name, *(found.get(pk) if pk else None for pk in which.get(name, (None, None)))) for name in names
    }
