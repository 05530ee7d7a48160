"""Start of a site: reject a newer database, migrate, and fill an empty one with an owner and a demo."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import OperationalError, connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from prove_web.accounts.locks import lock_project
from prove_web.accounts.models import Membership, Organisation, Project, User
from prove_web.accounts.roles import Role
from prove_web.core.env import envstr
from prove_web.experiments.models import Run
from prove_web.live.jobs import enqueue, lock_job, lose
from prove_web.live.models import AT_WORK, Job, Kind
from prove_web.supervisor.checks import newer
from prove_web.supervisor.program import ServiceError
from prove_web.supervisor.programs import OWNER_PASSWORD
from prove_web.trajectories.models import Dataset
from training_worker.core.warm import SERVERS as WARM_SERVERS

OWNER, ADDRESS = "owner", "owner@localhost"
Demo = tuple[dict[str, Any], dict[str, Any]]  # the specifications of a dataset and of a run
FULL: Demo = (
    {"seed": 0, "train": 4000, "held_out": 270, "candidates": 8, "servers": list(WARM_SERVERS)},
    {"policy": "warm", "seed": 0, "minutes": 6, "max_steps": 350, "evaluate_every": 10, "held_out": 250}
    | {"learning_rate": 5e-5},  # from 2e-4 on the steps of six minutes undo more than they teach
)
SMALL: Demo = (
    {"seed": 0, "train": 100, "held_out": 16, "candidates": 8, "servers": list(WARM_SERVERS)},
    {"policy": "warm", "seed": 0, "minutes": 6, "max_steps": 8, "prompts": 2, "group": 4}
    | {"evaluate_every": 4, "held_out": 8, "checkpoint_every": 2, "threads": 1},
)
DEMOS: dict[str, Demo | None] = {"whole": FULL, "small": SMALL, "none": None}
DEMO = "PROVE_DEMO"
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # without letters that look alike


@dataclass(frozen=True)
class Welcome:
    """How to sign in, shown once. `password` is None if the environment gave it."""

    password: str | None
    warning: str = ""


def refuse_newer_database() -> None:
    """Raise ServiceError if the database has migrations that are unknown here, or can't be reached."""
    file = connection.settings_dict["NAME"]
    if connection.vendor == "sqlite" and not (connection.is_in_memory_db() or os.path.exists(file)):
        return  # connecting would create it
    try:
        applied = MigrationRecorder(connection).applied_migrations()
    except OperationalError as error:
        raise ServiceError(f"the database does not answer: {str(error).splitlines()[0]}; see DATABASE_URL") from None
    finally:
        connection.close()
    known = MigrationLoader(None).disk_migrations
    if unknown := sorted(f"{app}.{migration}" for app, migration in applied if (app, migration) not in known):
        raise ServiceError(newer(settings.PROVE_DATA, f"its database has {unknown[0]}, which is unknown here"))


def migrate() -> None:
    call_command("migrate", verbosity=0, interactive=False)


def fill_empty_database() -> Welcome | None:
    """Fill an empty database: the first owner, a team, a project, and its first jobs. Do nothing for any other."""
    if User.objects.exists():
        return None
    given = os.environ.get(OWNER_PASSWORD)
    password = given or "-".join("".join(secrets.choice(LETTERS) for _ in range(4)) for _ in range(4))
    with transaction.atomic():
        owner = User.objects.create_user(OWNER, ADDRESS, password)
        team = Organisation.objects.create(slug="my-team", name="My team")
        Membership.objects.create(organisation=team, user=owner, role=Role.OWNER)
        launch_first_jobs(Project.objects.create(organisation=team, slug="demo", name="Demo"), owner, demo())
    return Welcome(None if given else password, describe_password_weakness(password))


def describe_password_weakness(password: str) -> str:
    """Return what is wrong with a password, in the words of the sign-in pages; it is accepted nevertheless."""
    try:
        validate_password(password)
    except ValidationError as error:
        return " ".join(error.messages)
    return ""


def demo() -> Demo | None:
    """Return the demo of an empty site. Raises ServiceError for an unknown name."""
    name = envstr(DEMO, "whole")
    if name not in DEMOS:
        raise ServiceError(f"{DEMO}={name!r} is not one of {', '.join(DEMOS)}")
    return DEMOS[name]


def launch_first_jobs(project: Project, owner: User, size: Demo | None) -> None:
    """Create the graph, dataset and run jobs, each after the previous one."""
    if size is None:
        return
    data_spec, run_spec = size
    ours = {"project": project, "created_by": owner}
    graph = Job.objects.create(**ours, kind=Kind.GRAPH, title="Dependency graph")
    data = Job.objects.create(**ours, kind=Kind.DATASET, title="Demo data", spec=data_spec, after=graph)
    config = {"dataset": str(data.id), **run_spec}
    run = Job.objects.create(**ours, kind=Kind.RUN, title="First run", spec=config, after=data)
    dataset = Dataset.objects.create(project=project, number=1, name="Demo data", job=data)
    Run.objects.create(project=project, number=1, name="First run", dataset=dataset, config=config, job=run)
    for job in (graph, data, run):
        enqueue(job)


def go_on() -> int:
    """Start the next attempt of every job that was running when the site was stopped. Return their number.

    Call it only if the broker was down: then none of its workers can still be running.
    """
    Job.objects.active().update(failures=0)  # a stop of the site is not a failure of a job
    found = list(Job.objects.filter(state__in=AT_WORK))
    for each in found:
        with transaction.atomic():
            lock_project(each.project_id)
            job = lock_job(each.pk)
            lose(job, "The site was stopped.")
            job.save()
            enqueue(job)
    return len(found)


def password_was_ignored() -> bool:
    """Return whether the environment has a password other than the owner's: it counts only at the first start."""
    given = os.environ.get(OWNER_PASSWORD)
    owner = User.objects.filter(username=OWNER).first()
    return bool(given and owner and not owner.check_password(given))
