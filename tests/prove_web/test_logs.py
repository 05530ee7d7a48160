"""Logs: a failing page is found in the log by the number on it; with PROVE_LOG=json every line is one object."""

import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from prove_web import urls
from prove_web.accounts.models import Project, User
from prove_web.accounts.permissions import Action, allow_anyone, in_project
from prove_web.core.logs import configuration, facts
from prove_web.live.models import Job
from prove_web.operations.middleware import observe_requests
from prove_web.supervisor.output import Console
from training_worker.worker import logs

ROOT = Path(__file__).resolve().parent.parent.parent


@allow_anyone
def fails(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("a fault of ours")


@in_project(Action.VIEW)
def fails_inside(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("a fault of ours")


urlpatterns = [
    path("fails/", fails, name="fails"),
    path("<slug:organisation>/<slug:project>/fails/", fails_inside, name="fails-inside"),
    *urls.urlpatterns,
]
handler500 = urls.handler500


@pytest.fixture
def said(settings: Any) -> Iterator[io.StringIO]:
    """Yield what is logged as JSON on a site that has pages that fail."""
    settings.ROOT_URLCONF = __name__
    heard = io.StringIO()
    handler = logging.StreamHandler(heard)
    handler.addFilter(logs.ContextFilter(facts))
    handler.setFormatter(logs.Json())
    listened = [logging.getLogger(name) for name in ("django.request", "prove_web.requests", "prove_web.live.jobs")]
    levels = [logger.level for logger in listened]
    for logger in listened:
        logger.addHandler(handler)
        logger.setLevel("INFO")
    yield heard
    for logger, level in zip(listened, levels, strict=True):
        logger.removeHandler(handler)
        logger.setLevel(level)


def lines(heard: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in heard.getvalue().splitlines()]


def test_a_page_that_fails_shows_the_number_under_which_the_log_has_the_cause(said: io.StringIO) -> None:
    answer = Client(raise_request_exception=False).get("/fails/?token=hush", headers={"X-Request-ID": "from-proxy.1"})
    assert answer.status_code == 500
    assert answer["X-Request-ID"] == "from-proxy.1" and "<code>from-proxy.1</code>" in answer.text
    answered, fault = sorted(lines(said), key=lambda line: line["level"], reverse=True)
    assert (fault["level"], fault["request_id"], fault["view"]) == ("ERROR", "from-proxy.1", "fails")
    assert fault["exc_info"].endswith("RuntimeError: a fault of ours")
    known = {"message": "answered", "method": "GET", "status": 500, "view": "fails", "request_id": "from-proxy.1"}
    assert known.items() <= answered.items()
    assert "hush" not in said.getvalue(), "what follows a ? may be a secret"


def test_a_line_names_the_user_and_the_project_of_the_request(
    said: io.StringIO, project: Project, alice: User, as_user: Any
) -> None:
    client = as_user(alice)
    client.raise_request_exception = False
    client.get("/acme/demo/fails/")
    expected = {"user": alice.pk, "project": "acme/demo", "view": "fails-inside", "status": 500}
    assert expected.items() <= next(line for line in lines(said) if line["message"] == "answered").items()


def test_the_request_that_launched_a_job_is_found_by_the_job(
    said: io.StringIO, project: Project, alice: User, as_user: Any, broker: str, transactional_db: None
) -> None:
    as_user(alice).post("/acme/demo/graph/prove/", headers={"X-Request-ID": "launched.1"})
    job = Job.objects.get()
    sent = next(line for line in lines(said) if line["logger"] == "prove_web.live.jobs")
    about = {"request_id": "launched.1", "user": alice.pk, "project": "acme/demo", "job": str(job.pk)}
    assert about.items() <= sent.items()
    assert [line["request_id"] for line in lines(said)] == ["launched.1"] * 2, "and its answer"


@pytest.mark.parametrize("given", ["", "x" * 65, "<script>", "a b", '"}'])
def test_a_number_from_outside_that_is_not_short_and_plain_is_replaced(given: str) -> None:
    request_id = Client().get("/health/", headers={"X-Request-ID": given})["X-Request-ID"]
    assert request_id != given and len(request_id) == 32 and request_id.isalnum()


def test_each_request_has_a_number_of_its_own() -> None:
    assert len({Client().get("/health/")["X-Request-ID"] for _ in range(5)}) == 5


async def answer_late(request: HttpRequest) -> HttpResponse:
    return HttpResponse(request.request_id)


def test_it_is_the_same_where_answers_are_awaited(rf: Any) -> None:
    from asgiref.sync import async_to_sync

    request = rf.get("/", headers={"X-Request-ID": "abc"})
    answer = async_to_sync(observe_requests(answer_late))(request)
    assert (answer.text, answer["X-Request-ID"]) == ("abc", "abc")


def test_a_worker_logs_the_job_that_it_works_on() -> None:
    record = logging.makeLogRecord({"name": "training_worker.jobs", "levelname": "WARNING", "msg": "late"})
    logs.begin_job({"job": "0b5e", "attempt": 1})
    try:
        assert logs.ContextFilter(logs.job_at_work).filter(record)
        entry = json.loads(logs.Json().format(record))
    finally:
        logs.end_job()
    assert (entry["job"], entry["level"], entry["logger"]) == ("0b5e", "WARNING", "training_worker.jobs")
    assert logs.job_at_work(record) == {}


def test_only_known_fields_are_logged() -> None:
    record = logging.makeLogRecord({"msg": "m", "password": "hush", "args": ()})
    assert set(json.loads(logs.Json().format(record))) == {"timestamp", "level", "message"}


def test_an_unknown_format_stops_the_start_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVE_LOG", "xml")
    with pytest.raises(ImproperlyConfigured, match="PROVE_LOG='xml' is not one of text, json"):
        configuration()


FAILING = """
from django.test import Client, override_settings
with override_settings(ROOT_URLCONF="tests.prove_web.test_logs", ALLOWED_HOSTS=["testserver"]):
    Client(raise_request_exception=False).get("/fails/", headers={"X-Request-ID": "abc"})
    Client().get("/nothing/is/here/")
"""


@pytest.mark.long
@pytest.mark.parametrize("form", ["text", "json"])
def test_without_debug_the_traceback_of_a_page_is_in_the_log(form: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PROVE_DATA": str(tmp_path), "PROVE_LOG": form, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", FAILING]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if form == "json":
        entries = [json.loads(line) for line in done.stderr.splitlines()]
        assert [(line["logger"], line.get("status"), "exc_info" in line) for line in entries] == [
            ("django.request", None, True),
            ("prove_web.requests", 500, False),
            ("prove_web.requests", 404, False),
        ]
    else:
        assert done.stderr.startswith("ERROR Internal Server Error: /fails/ [request abc]\nTraceback")
        assert done.stderr.endswith("RuntimeError: a fault of ours\n")


def test_the_supervisor_passes_objects_on_with_the_name_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVE_LOG", "json")
    output = io.StringIO()
    console = Console(output)
    console.print_line("web", '{"level": "ERROR", "message": "broke"}')
    console.print_line("gateway", "plain \x1b[31mwords")
    console.print_line("broker", "17")
    first, second, third = (json.loads(line) for line in output.getvalue().splitlines())
    assert first == {"level": "ERROR", "message": "broke", "program": "web"}
    assert (second["program"], second["message"]) == ("gateway", "plain ?[31mwords")
    assert (third["program"], third["message"]) == ("broker", "17")
