"""Replay of all accepted trajectories: which still hold, and which have drifted since."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from django.db.models import Max, QuerySet

from prove_web.accounts.models import Project

from .acceptance import AcceptanceCheck, check
from .models import Acceptance
from .trajectory_content import NotChecked

EQUAL = 1e-9


@dataclass
class ReverifyReport:
    """Outcome for accepted trajectories; those that drifted or could not be replayed are listed by URL.

    `other_code` counts those that hold although their servers' code has changed since their acceptance.
    """

    total: int = 0
    held: int = 0
    other_code: int = 0
    drifted: dict[str, tuple[str, ...]] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)


def get_latest_acceptances(project: Project | None = None) -> QuerySet[Acceptance]:
    """Return the newest acceptance of every trajectory, of one project or of all."""
    rows = Acceptance.objects.filter(trajectory__dataset__project=project) if project else Acceptance.objects.all()
    newest = rows.order_by().values("trajectory").annotate(newest=Max("pk")).values("newest")
    found = Acceptance.objects.filter(pk__in=newest).order_by("pk")
    return found.select_related("trajectory__dataset__project__organisation")


def verify(
    rows: QuerySet[Acceptance], progress: Callable[[int, int], None] = lambda done, total: None
) -> ReverifyReport:
    found = ReverifyReport(total=rows.count())
    for done, acceptance in enumerate(rows.iterator(chunk_size=200), 1):
        where = acceptance.trajectory.get_absolute_url()
        try:
            checked = check(acceptance.trajectory)
        except NotChecked as why:
            found.broken[where] = str(why)
        else:
            if drift := find_new_drift(acceptance, checked):
                found.drifted[where] = drift
            else:
                found.held += 1
                found.other_code += checked.fingerprint != acceptance.fingerprint
        progress(done, found.total)
    return found


def find_new_drift(acceptance: Acceptance, checked: AcceptanceCheck) -> tuple[str, ...]:
    """Return what differs from what was accepted, without the drift that was accepted."""
    drift = [text for text in checked.drift if text not in acceptance.drift]
    if not drift and checked.digest != acceptance.digest:
        drift.append("The final state of the world differs from the one at acceptance.")
    then = acceptance.reward["total"] if acceptance.reward else None
    now = checked.reward.total if checked.reward else None
    same = then == now or (then is not None and now is not None and abs(then - now) <= EQUAL)
    if not drift and not same:
        drift.append(f"The reward was {then} at acceptance and is {now} now.")
    return tuple(drift)
