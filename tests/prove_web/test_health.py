"""Health: whether the process answers and whether the site can do its work, with what is wrong and what to do."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from prove_web.live import health, message_broker
from prove_web.operations import tasks
from training_worker.worker import heartbeat

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def all_alive(broker: str, settings: Any, tmp_path: Path) -> None:
    settings.PROVE_DATA = tmp_path
    for name in health.PROGRAMS:
        heartbeat.beat(message_broker.broker(), name)


def readiness() -> tuple[int, dict[str, Any]]:
    answer = Client().get("/health/ready/")
    return answer.status_code, answer.json()["checks"]


def wrong(found: dict[str, Any]) -> set[str]:
    return {name for name, check in found.items() if not check["ok"]}


def test_the_process_answers_without_database_or_broker(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    answer = Client().get("/health/")
    assert (answer.status_code, answer.json()) == (200, {"ok": True})
    assert "no-store" in answer["Cache-Control"]


def test_a_site_that_has_what_it_needs_is_ready(db: None, all_alive: None) -> None:
    status, found = readiness()
    assert (status, wrong(found)) == (200, set())
    assert set(found) == {"database", "migrations", "broker", "disk", "beat", "web-worker", "writer"}


@pytest.mark.parametrize("program", health.PROGRAMS)
def test_a_program_that_fell_silent_makes_the_site_unready(program: str, db: None, all_alive: None) -> None:
    broker = message_broker.broker()
    broker.hset(heartbeat.HEARTBEATS, program, heartbeat.get_broker_time(broker) - health.MOST_SILENT - 1)
    status, found = readiness()
    assert (status, wrong(found)) == (503, {program})
    assert "see its log" in found[program]["why"]
    broker.hdel(heartbeat.HEARTBEATS, program)
    status, found = readiness()
    assert (status, wrong(found)) == (503, {program})
    assert f"manage.py program {program}" in found[program]["why"]


def test_a_pulse_through_its_queue_is_what_makes_a_program_alive(db: None, all_alive: None) -> None:
    message_broker.broker().delete(heartbeat.HEARTBEATS)
    tasks.pulse("writer")
    tasks.record_clock_heartbeat()
    assert wrong(readiness()[1]) == {"web-worker"}


def test_without_a_broker_the_site_says_so_and_nothing_secret(db: None, settings: Any, tmp_path: Path) -> None:
    settings.PROVE_DATA, settings.REDIS_URL = tmp_path, "redis://someone:hush@127.0.0.1:1/0"
    message_broker.broker.cache_clear()
    status, found = readiness()
    message_broker.broker.cache_clear()
    assert (status, wrong(found)) == (503, {"broker", *health.PROGRAMS})
    text = json.dumps(found)
    assert "hush" not in text and "127.0.0.1" not in text and str(tmp_path) not in text


SCRIPT = """
from django.test import Client, override_settings
with override_settings(ALLOWED_HOSTS=["testserver"]):
    answer = Client().get("/health/ready/")
print(answer.status_code, answer.text)
"""


@pytest.mark.long
def test_an_unreachable_database_is_reported_and_nothing_secret(tmp_path: Path) -> None:
    away = {"PROVE_DATA": str(tmp_path), "DATABASE_URL": "postgres://someone:hush@127.0.0.1:1/site"}
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", SCRIPT]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **away}, capture_output=True, text=True)
    status, body = done.stdout.split(maxsplit=1)
    found = json.loads(body)["checks"]
    assert status == "503" and {"database", "migrations"} <= wrong(found) and found["disk"]["ok"]
    assert "PostgreSQL database does not answer" in found["database"]["why"]
    assert "hush" not in done.stdout + done.stderr


def test_migrations_that_wait_are_counted(db: None, all_alive: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'live' AND name = '0001_initial'")
    status, found = readiness()
    assert (status, wrong(found)) == (503, {"migrations"})
    assert "1 of " in found["migrations"]["why"] and "manage.py migrate" in found["migrations"]["why"]


def test_a_data_folder_that_is_missing_or_full_is_reported(
    db: None, all_alive: None, settings: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(health, "LEAST_FREE_GB", 10**9)
    assert "make room" in readiness()[1]["disk"]["why"]
    settings.PROVE_DATA = settings.PROVE_DATA / "nowhere"
    status, found = readiness()
    assert (status, wrong(found)) == (503, {"disk"})
    assert "PROVE_DATA" in found["disk"]["why"]


def test_programs_of_long_ago_are_forgotten(broker: str) -> None:
    known = message_broker.broker()
    heartbeat.beat(known, "writer")
    known.hset(heartbeat.HEARTBEATS, "training@gone", heartbeat.get_broker_time(known) - heartbeat.FORGET - 1)
    assert list(heartbeat.ages(known)) == ["writer"]
    assert known.hkeys(heartbeat.HEARTBEATS) == ["writer"]
