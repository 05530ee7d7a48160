"""Acceptance status of trajectories: who accepted one, when, and whether the servers are still the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Max

from mcp_servers.catalogue import SERVERS, fingerprint
from prove_web.trajectories.models import Trajectory

from .models import Acceptance


@dataclass(frozen=True)
class AcceptanceStatus:
    """The newest acceptance; `same` while the servers have the code that it was verified on."""

    acceptance: Acceptance
    same: bool


def standings(trajectories: Iterable[Trajectory]) -> dict[int, AcceptanceStatus]:
    """Return the status by trajectory, for accepted ones only: two queries for any number of trajectories."""
    servers = {one.pk: one.servers for one in trajectories}
    rows = Acceptance.objects.filter(trajectory__in=servers).order_by()
    newest = rows.values("trajectory").annotate(newest=Max("pk")).values_list("newest", flat=True)
    found = Acceptance.objects.filter(pk__in=list(newest)).select_related("accepted_by")
    return {
        one.trajectory_id: AcceptanceStatus(one, one.fingerprint == today(servers[one.trajectory_id])) for one in found
    }


def today(names: str) -> str:
    """Return the fingerprint of these servers now; "" if one is missing."""
    servers = [name for name in names.split(",") if name]
    return fingerprint(servers) if all(name in SERVERS for name in servers) else ""
