"""What holds for all tests: without torch (`make test TORCH=0`) the trainer's are left out, and the end says so."""

import gc
import importlib.util
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

import training_worker.core.torch_environment  # noqa: F401  # before torch, whose idle threads would spin without what it sets
from tests.order import GroupScheduling, place_of
from tests.sharing import GRAPH, ROOT, RUN, cached_folder, run_folder
from tests.together import end_together

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker
    from xdist.remote import Producer

    from tests.prove.serving import Serve

end_together()
gc.disable()  # until all tests are collected: what is imported stays

# Before Django is set up: tests write to a data folder of their own, and know no broker or database but theirs.
IS_FIRST = RUN not in os.environ
os.environ["PROVE_DATA"] = tempfile.mkdtemp(prefix="site-", dir=run_folder())
for name in ("REDIS_URL", "DATABASE_URL", "PROVE_HOSTS", "PROVE_DEBUG"):
    os.environ.pop(name, None)
if database := os.environ.get("PROVE_TEST_DATABASE"):  # postgres://..., whose user may create databases
    os.environ["DATABASE_URL"] = database

# Some images forbid Python to store its bytecode; then each program that a test starts compiles torch again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# The same examples on every machine, and no clock.
settings.register_profile(
    "laws",
    max_examples=50,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("laws")

MIGRATED, TABLES = "prove.sqlite3", ("prove_web", "requirements.txt")
HAS_TORCH = importlib.util.find_spec("torch") is not None

collect_ignore = [] if HAS_TORCH else ["trainer"]


@pytest.fixture(scope="session")
def graph_folder() -> Path:
    """A folder with the graph of all servers; it is built again when a server or the engine changes."""
    from training_worker.graph.dependency_graph import load_or_build

    with cached_folder(*GRAPH) as folder:
        load_or_build(folder)
    return folder


@pytest.fixture(scope="session")
def django_db_setup(request: pytest.FixtureRequest, django_db_blocker: "DjangoDbBlocker") -> Iterator[None]:
    """An empty database with every table. On SQLite one process migrates, and the others copy what it made."""
    from django.contrib.contenttypes.models import ContentType
    from django.db import connection, connections
    from django.test import TransactionTestCase

    if connection.vendor != "sqlite":
        request.getfixturevalue("django_db_setup")
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            # django-auditlog's own table, in whose place ours is: Django does not know it, and cannot empty the others.
            cursor.execute("DROP TABLE IF EXISTS auditlog_logentry")
        keep_open(type(connections["default"]))
        yield
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        with django_db_blocker.unblock(), connection.cursor() as cursor:  # threads of tests leave connections behind
            cursor.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
        return
    with cached_folder("database", TABLES) as folder:
        made = (empty_database := folder / MIGRATED).exists()
        connection.settings_dict["TEST"]["MIGRATE"] = not made
        request.getfixturevalue("django_db_setup")
        part = empty_database.with_suffix(".part")
        with django_db_blocker.unblock(), closing(sqlite3.connect(empty_database if made else part)) as file:
            connection.ensure_connection()
            here = connection.connection
            file.backup(here) if made else here.backup(file)
        if not made:
            part.replace(empty_database)
    ContentType.objects.clear_cache()

    def restore_empty_database(case: TransactionTestCase) -> None:
        """Copy the empty database. That is faster than to empty each table and let all apps insert their rows."""
        connection.ensure_connection()
        with closing(sqlite3.connect(empty_database)) as file:
            file.backup(connection.connection)

    TransactionTestCase._fixture_teardown = restore_empty_database
    yield


@pytest.fixture(scope="session")
def migrated() -> Path:
    """An empty SQLite database that has every table, for the start of a site; made again when prove_web changes."""
    with cached_folder("database", TABLES) as folder:
        if not (empty_database := folder / MIGRATED).exists():
            making = Path(tempfile.mkdtemp(dir=run_folder()))
            environment = {**os.environ, "PROVE_DATA": str(making)}
            environment.pop("DATABASE_URL", None)
            subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, env=environment, check=True)
            shutil.move(making / MIGRATED, part := empty_database.with_suffix(".part"))
            part.replace(empty_database)
    return empty_database


def keep_open(kind: type[Any]) -> None:
    """Stop tasks that a test calls from closing the connection of the test's transaction; none in memory is closed."""
    usual = kind.close_if_unusable_or_obsolete

    def unless_in_use(wrapper: Any) -> None:
        if not wrapper.in_atomic_block:
            usual(wrapper)

    kind.close_if_unusable_or_obsolete = unless_in_use


@pytest.fixture(scope="session")
def serve() -> Iterator["Serve"]:
    """A chat endpoint over a real socket: give it what answers, and get where."""
    from tests.prove.serving import Server

    server = Server()
    yield server.serve
    server.stop()


def pytest_configure(config: pytest.Config) -> None:
    """On PostgreSQL a connection of a thread that ended is closed when it is collected, which psycopg warns of."""
    if "PROVE_TEST_DATABASE" in os.environ:
        config.addinivalue_line("filterwarnings", "ignore:<psycopg.Connection object:ResourceWarning")


def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> GroupScheduling:
    """Keep together what shares a site, a worker or torch."""
    return GroupScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest."""
    items.sort(key=place_of)


def pytest_collection_finish() -> None:
    """Spare the garbage collector a million objects that live as long as the process: modules and tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)  # all that a test run makes was looked through eighty times, for half a minute
    gc.enable()


def pytest_unconfigure() -> None:
    if IS_FIRST:
        shutil.rmtree(run_folder(), ignore_errors=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not HAS_TORCH:
        terminalreporter.write_line("Left out: tests/trainer, because torch is not installed (TORCH=0).", yellow=True)
