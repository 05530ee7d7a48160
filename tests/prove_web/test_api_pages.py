"""The page of the API's operations, its document, and what a list costs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from prove_web.accounts.models import Project, User
from prove_web.api.api import document
from prove_web.evaluations.models import Evaluation
from prove_web.experiments.models import Run
from prove_web.live.models import Job, Kind, State
from prove_web.review.create_queue import make_queue
from prove_web.servers.models import LiveSession
from prove_web.trajectories.load_dataset import row
from prove_web.trajectories.models import Dataset

from .api_operations import OPERATIONS
from .examples import abstention
from .furnished import furnish


def test_the_page_has_every_operation_with_a_request_to_try(victor: User, as_user: Callable[[User], Client]) -> None:
    page = as_user(victor).get("/api/v1/docs/").content.decode()
    for operation in OPERATIONS:
        assert f'id="{operation.name}"' in page and f'id="curl-{operation.name}"' in page
    assert re.search(r"\sstyle=|<style|\son\w+=", page) is None


def test_the_document_is_for_whoever_is_known(victor: User, as_user: Callable[[User], Client]) -> None:
    assert Client().get("/api/v1/openapi.json").status_code == 401
    found = as_user(victor).get("/api/v1/openapi.json").json()
    assert found == json.loads(json.dumps(document())) and found["openapi"].startswith("3.")


def test_every_reference_of_the_document_leads_somewhere() -> None:
    known = document()["components"]["schemas"]
    names = re.findall(r"#/components/schemas/([\w\[\]]+)", str(document()))
    assert {*names} <= {*known}


def test_every_operation_says_what_it_does_and_what_it_answers() -> None:
    exports = {each.name for each in OPERATIONS if each.name.startswith(("export_", "download_"))}
    for operation in OPERATIONS:
        assert operation.spec["description"].endswith((".", "`.")), operation.name
        answers = [each for status, each in operation.spec["responses"].items() if str(status).startswith("2")]
        assert operation.name in exports or answers[0]["content"], operation.name


@pytest.mark.parametrize("resource", ["runs", "sessions", "jobs", "datasets", "trajectories", "evaluations", "review"])
def test_a_longer_list_takes_no_more_queries(
    resource: str,
    mary: User,
    project: Project,
    settings: LazySettings,
    tmp_path: Path,
    as_user: Callable[[User], Client],
) -> None:
    settings.PROVE_DATA, client = tmp_path, as_user(mary)
    furnish(project, mary)

    def cost() -> tuple[int, int]:
        with CaptureQueriesContext(connection) as queries:
            items = client.get(f"/api/v1/acme/demo/{resource}").json()["items"]
        return len(items), len(queries)

    client.get("/api/v1/me")
    few = cost()
    for number in (8, 9):
        another(project, mary, number)
    many = cost()
    assert many[0] > few[0] and many[1] <= few[1]


def another(project: Project, user: User, number: int) -> None:
    """Create one more of everything that is listed."""
    made = {"project": project, "created_by": user, "state": State.DONE}
    jobs = [Job.objects.create(kind=kind, title="More", **made) for kind in (Kind.DATASET, Kind.RUN, Kind.EVALUATE)]
    dataset = Dataset.objects.create(project=project, number=number, name="More", job=jobs[0])
    trajectory = row(dataset, abstention())
    trajectory.save()
    Run.objects.create(project=project, number=number, name="More", dataset=dataset, job=jobs[1])
    Evaluation.objects.create(project=project, number=number, name="More", benchmark="worlds", job=jobs[2])
    LiveSession.objects.create(servers=["banking"], seed=number, fingerprint="", project=project, created_by=user)
    make_queue(project, user, [trajectory.pk], name="More", schema=project.queues.first().schema)
