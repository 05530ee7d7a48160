"""Creation of external runs, which have no dataset and a job that no worker takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from prove_web.accounts.locks import lock_active_project
from prove_web.accounts.models import Project, User
from prove_web.live import message_broker
from prove_web.live.models import Job, Kind, State

from ..models import Run, RunKind, RunSetting
from ..run_launch import next_number
from ..run_metadata import LONGEST_NOTES, ODD, normalise_tags
from . import config_flatten
from .ingest import put
from .limits import InvalidRunData, check_config

LONGEST_NAME = 80
SILENT_AFTER = 600  # seconds without a heartbeat after which a run is lost
SHORTEST_SILENCE, LONGEST_SILENCE = 30, 7 * 24 * 3600


@dataclass(frozen=True)
class ExternalRunRequest:
    """The requested run; `key` is the client's idempotency key: the same key returns the same run."""

    name: str
    key: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    tags: Iterable[str] = ()
    notes: str = ""
    total: int | None = None
    silent_after_s: int = SILENT_AFTER
    started_at: datetime | None = None
    host: str = ""


@transaction.atomic
def make(project: Project, user: User | None, wanted: ExternalRunRequest) -> tuple[Run, bool]:
    """Return the run, and whether it is new. Raises InvalidRunData, and InvalidMetadata for its tags."""
    check_config(wanted.config)
    name = " ".join(wanted.name.split())
    if not name or len(name) > LONGEST_NAME or ODD.search(name):
        raise InvalidRunData(f"A run has a name of at most {LONGEST_NAME} characters.", "name")
    if len(wanted.notes) > LONGEST_NOTES:
        raise InvalidRunData(f"Notes have at most {LONGEST_NOTES:,} characters.", "notes")
    lock_active_project(project)  # so that concurrent calls get different numbers, and the same key the same run
    known = Run.objects.filter(project=project, kind=RunKind.OUTSIDE, deleted_at=None, job__spec__key=wanted.key)
    if wanted.key and (found := known.select_related("job").first()):
        return found, False
    now = timezone.now()
    spec = {"silent_after_s": wanted.silent_after_s} | ({"key": wanted.key} if wanted.key else {})
    job = Job.objects.create(
        project=project,
        kind=Kind.OUTSIDE,
        title=name,
        spec=spec,
        created_by=user,
        state=State.RUNNING,
        started_at=wanted.started_at or now,
        beat_at=now,
        total=wanted.total or 0,
    )
    run = Run.objects.create(
        project=project,
        number=next_number(project),
        name=name,
        kind=RunKind.OUTSIDE,
        config={"given": dict(wanted.config)},
        tags=normalise_tags(wanted.tags),
        notes=wanted.notes,
        job=job,
    )
    RunSetting.objects.bulk_create(config_flatten.build_setting_rows(run.pk, wanted.config, RunSetting))
    put(job, [{"kind": "started", "at": job.started_at.isoformat(), "data": {"host": wanted.host[:200]}}])
    transaction.on_commit(lambda: message_broker.hint(job))
    return run, True
