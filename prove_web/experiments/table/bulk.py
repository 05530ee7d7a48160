"""Bulk actions on runs: what was done, what was refused and why, and how to undo it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from prove_web.accounts.locks import lock_project
from prove_web.accounts.models import Project, User
from prove_web.core.parse_int import parse_digits
from prove_web.live.jobs import NotNow, request_stop, resume
from prove_web.live.models import StopLevel
from prove_web.sharing.models import Deletion
from prove_web.sharing.soft_delete import InUse, TooLate, delete, restore

from .. import run_metadata
from ..models import Run
from ..run_metadata import InvalidMetadata
from .params import TableParams
from .rows import filter_runs

MOST = 1_000  # runs per action
MAX_LISTED = 8  # refusals listed individually
UNDELETE = "undelete"  # applies to runs in the trash


@dataclass
class BulkResult:
    """Result of a bulk action; `undo` is the inverse action, if any; `changed` are the runs that it changed."""

    said: str
    undo: str = ""
    changed: list[int] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    same: int = 0


@dataclass(frozen=True)
class Act:
    """A bulk action; `do` returns whether it changed the run, and raises InvalidMetadata or NotNow if it cannot."""

    said: str
    do: Callable[[Run, Any], bool]
    undo: str = ""


def stop(run: Run, level: str) -> bool:
    """Request a stop; return whether that changed anything."""
    if run.job.ended:
        raise NotNow(f"already {run.job.get_state_display().lower()}")
    before = run.job.stop
    return request_stop(run.job, level).stop != before


def go_on(run: Run) -> bool:
    try:
        resume(run.job)
    except NotNow:
        raise NotNow(f"{run.job.get_state_display().lower()}; nothing to resume") from None
    return True


def tag(run: Run, tags: str) -> bool:
    return run_metadata.change_tags(run, add=run_metadata.read_tags(tags))


def untag(run: Run, tags: str) -> bool:
    return run_metadata.change_tags(run, remove=run_metadata.read_tags(tags))


def remove(run: Run, user: User) -> bool:
    try:
        delete(run, user)
    except InUse as why:
        raise InvalidMetadata(str(why)) from None
    return True


@transaction.atomic
def bring_back(run: Run, given: object) -> bool:
    """Restore a run from the trash. Raises InvalidMetadata."""
    lock_project(run.project_id)  # prevents concurrent deletion and restoring
    about = {"project": run.project_id, "kind": Deletion.Kind.RUN, "number": run.number}
    found = Deletion.objects.filter_in_trash().filter(**about).first()
    if found is None:
        if Run.objects.filter(pk=run.pk).exists():
            return False  # somebody else restored it
        raise InvalidMetadata("permanently deleted in the meantime")
    try:
        restore(found)
    except TooLate as why:
        raise InvalidMetadata(str(why)) from None
    return True


MARKS = {
    "tag": Act("tagged", tag, "untag"),
    "untag": Act("untagged", untag, "tag"),
    "pin": Act("pinned", lambda run, _: run_metadata.pin(run), "unpin"),
    "unpin": Act("unpinned", lambda run, _: run_metadata.pin(run, False), "pin"),
}
ACTS = {
    "archive": Act("archived", lambda run, _: run_metadata.archive(run), "unarchive"),
    "unarchive": Act("unarchived", lambda run, _: run_metadata.archive(run, False), "archive"),
    "base": Act("assigned the baseline", run_metadata.set_base),
    "unbase": Act("left without a baseline", lambda run, _: run_metadata.set_base(run, None)),
    "stop-after": Act("asked to stop after this step", lambda run, _: stop(run, StopLevel.AFTER_STEP)),
    "stop-now": Act("asked to stop now", lambda run, _: stop(run, StopLevel.NOW)),
    "delete": Act("moved to the trash", remove, UNDELETE),
    UNDELETE: Act("restored", bring_back),
    "resume": Act("queued again", lambda run, _: go_on(run)),
}


def find_selected_runs(project: Project, data: Mapping[str, Any], params: TableParams) -> tuple[list[Run], list[int]]:
    """Return the selected runs, or with `all` every run that the table found, and the missing numbers.

    Missing runs may have been deleted by someone else. Raises InvalidMetadata.
    """
    numbers = set() if data.get("all") else numbers_of(str(data.get("runs", "")))
    if data.get("all"):
        rows, _ = filter_runs(project, params)
    else:
        rows = in_bin(project) if data.get("act") == UNDELETE else run_metadata.in_sight(project)
        rows = rows.filter(number__in=numbers if len(numbers) <= MOST else ())
    runs = list(rows.select_related("job__project__organisation").order_by("number")[: MOST + 1])
    if max(len(runs), len(numbers)) > MOST:
        raise InvalidMetadata(f"At most {MOST:,} runs at a time. Narrow the search or select fewer.")
    if not runs:
        raise InvalidMetadata("No runs selected. Select runs, then choose an action.")
    return runs, sorted(numbers - {run.number for run in runs})


def numbers_of(text: str) -> set[int]:
    """Parse comma-separated run numbers."""
    return {number for one in text.split(",") if (number := parse_digits(one)) is not None}


def in_bin(project: Project) -> QuerySet[Run]:
    return Run.everything.filter(project=project, deleted_at__isnull=False)


def apply_action_to_runs(act: Act, runs: Iterable[Run], given: Any, missing: Iterable[int] = ()) -> BulkResult:
    """Apply an action to each run independently, so that a refusal does not affect the other runs."""
    done = BulkResult(act.said, act.undo, refused=[f"Run {number}: no longer exists" for number in missing])
    for run in runs:
        try:
            changed = act.do(run, given)
        except (InvalidMetadata, NotNow) as why:
            done.refused.append(f"Run {run.number}: {why}")
        else:
            if changed:
                done.changed.append(run.number)
            else:
                done.same += 1
    return done


def format_run_count(count: int) -> str:
    return f"{count:,} run{'s' if count != 1 else ''}"
