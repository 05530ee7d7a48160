"""Soft deletion: runs, datasets and projects are moved to the trash and restored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from prove_web.accounts import audit
from prove_web.accounts.locks import lock_project
from prove_web.accounts.models import Project, User
from prove_web.evaluations.models import Evaluation
from prove_web.experiments.models import Run
from prove_web.live.models import ENDED, Job
from prove_web.review.models import Notification, Queue
from prove_web.trajectories.models import Dataset

from .models import Deletion

Thing = Run | Dataset | Project
KINDS = {Run: Deletion.Kind.RUN, Dataset: Deletion.Kind.DATASET, Project: Deletion.Kind.PROJECT}
MAX_LISTED = 5  # reasons that are listed
MOST_ALERTS = 500  # whose notifications are removed


class InUse(Exception):
    """Error if something is still needed; the message says by what, and what to do."""


class TooLate(Exception):
    """Error if something can no longer be restored, because it is being purged."""


@transaction.atomic
def delete(thing: Thing, user: User) -> Deletion:
    """Move it to the trash, from which it can be restored for a while; no change if it is there. Raises InUse."""
    project = project_of(thing)
    lock_project(project.pk)  # nothing is launched with it meanwhile
    if already := Deletion.objects.filter_in_trash().filter(**key_of(thing)).first():
        return already
    if found := list(needed_by(thing)):
        more = f"; and {len(found) - MAX_LISTED} more" if len(found) > MAX_LISTED else ""
        raise InUse(f"“{thing}” cannot be deleted yet: {'; '.join(found[:MAX_LISTED])}{more}.")
    thing.deleted_at = timezone.now()
    with audit.override_actor(user):
        thing.save(update_fields=["deleted_at"])
    forget(thing)
    values = {"name": str(thing), "by": user, "at": thing.deleted_at, "restored_at": None}
    made, _ = Deletion.objects.update_or_create(**key_of(thing), defaults=values)
    return made


@transaction.atomic
def restore(deletion: Deletion) -> Thing:
    """Restore it from the trash, unchanged; a second call has no effect. Raises TooLate."""
    lock_project(deletion.project_id)
    found = thing_of(deletion)
    if found and not found.deleted_at:
        return found
    if found is None or (deletion.due and not has_unpurged_runs(deletion)):
        raise TooLate(f"“{deletion.name}” can no longer be restored: its time in the trash is over.")
    found.deleted_at = None
    found.save(update_fields=["deleted_at"])
    Deletion.objects.filter(pk=deletion.pk).update(restored_at=timezone.now())
    return found


def forget(thing: Thing) -> None:
    """Remove the notifications about it; they do not return with a restore, because each is sent only once."""
    if isinstance(thing, Project):
        return  # notifications are shown only for existing projects
    places = (thing.get_absolute_url(), thing.job.get_absolute_url())
    about = Q(url__startswith=places[0]) | Q(url__startswith=places[1])
    if isinstance(thing, Run):
        about |= Q(url__in=[reverse("alert", args=[*thing.project.path, key]) for key in alerts_of(thing)])
    if isinstance(thing, Dataset):
        about |= Q(text__endswith=f"on your data set “{thing}”")  # of verdicts in a queue
    Notification.objects.filter(about, project=thing.project).delete()


def alerts_of(run: Run) -> list[int]:
    """Return the ids of a run's newest alerts."""
    return list(run.alerts.order_by("-pk").values_list("pk", flat=True)[:MOST_ALERTS])


def project_of(thing: Thing) -> Project:
    return thing if isinstance(thing, Project) else thing.project


def key_of(thing: Thing) -> dict[str, Any]:
    number = 0 if isinstance(thing, Project) else thing.number
    return {"project": project_of(thing), "kind": KINDS[type(thing)], "number": number}


def thing_of(deletion: Deletion) -> Thing | None:
    """Return what was deleted; None after its purge."""
    if deletion.kind == Deletion.Kind.PROJECT:
        return Project.everything.select_related("organisation").filter(pk=deletion.project_id).first()
    table: Any = Run if deletion.kind == Deletion.Kind.RUN else Dataset
    rows = table.everything.filter(project=deletion.project_id, number=deletion.number)
    return rows.select_related("project__organisation", "job").first()


def has_unpurged_runs(deletion: Deletion) -> bool:
    """Return whether it is a dataset with runs that are not purged yet: its purge waits for the last of them."""
    runs = Run.everything.filter(project=deletion.project_id, dataset__number=deletion.number)
    return deletion.kind == Deletion.Kind.DATASET and runs.exists()


def needed_by(thing: Thing) -> Iterator[str]:
    """Yield what uses a thing or waits for it, in words with what to do."""
    if isinstance(thing, Project):
        for job in thing.jobs.exclude(state__in=ENDED):
            yield f"“{job.title}” is {job.get_state_display().lower()}, stop it first"
        return
    if not (job := Job.objects.get(pk=thing.job_id)).ended:  # reloaded, because it may have been resumed
        yield f"it is {job.get_state_display().lower()}, stop it first"
    yield from (needs_run if isinstance(thing, Run) else needs_dataset)(thing)


def needs_run(run: Run) -> Iterator[str]:
    for one in Evaluation.objects.filter(run=run).exclude(job__state__in=ENDED):
        yield f"evaluation {one.number} ({one.name}) evaluates it"
    policy = f"run:{run.job_id}"
    started = Q(spec__policy=policy) | Q(spec__policy__startswith=f"{policy}/")
    for job in Job.objects.filter(started, project=run.project, run__isnull=False).exclude(state__in=ENDED):
        yield f"run {job.run.number} ({job.run.name}) starts from it"
    for one in list_unfinished_datasets(run.project):
        if one.origin.get("run") == run.number:
            yield f"dataset {one.number} ({one.name}) is being created from it"


def needs_dataset(dataset: Dataset) -> Iterator[str]:
    for run in dataset.runs.exclude(job__state__in=ENDED).select_related("job"):
        yield f"run {run.number} ({run.name}) is {run.job.get_state_display().lower()} on it"
    for one in list_unfinished_datasets(dataset.project):
        mixed = {number for number, *_ in one.origin.get("mix") or ()}
        if dataset.number in {one.origin.get("dataset"), *mixed} or one.parent_id == dataset.pk:
            yield f"dataset {one.number} ({one.name}) is being created from it"
    for queue in Queue.objects.filter(closed_at=None, items__trajectory__dataset=dataset).distinct():
        yield f"review queue {queue.number} ({queue.name}) contains it, close the queue first"


def list_unfinished_datasets(project: Project) -> Any:
    """Return the datasets in creation."""
    return Dataset.objects.filter(project=project).exclude(job__state__in=ENDED)
