"""`manage.py serve` runs the full site in the foreground, reports an obstacle in one line and leaves nothing behind."""

import asyncio
import contextlib
import http.client
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import uvicorn
from django.core.management import CommandError, call_command
from mcp import Client

from mcp_servers.catalogue import SERVERS
from prove_web.operations import bootstrap
from prove_web.supervisor import valkey
from prove_web.supervisor.program import ServiceError
from prove_web.supervisor.programs import MCP_TOKEN, OWNER_PASSWORD, Site, programs
from tests.waiting import PATIENCE, eventually
from training_worker.evaluation.allowlist import ENDPOINTS
from training_worker.join import __main__ as join
from training_worker.worker import logs

ROOT = Path(__file__).resolve().parent.parent.parent
MARKER = "PROVE_TEST_MARKER"
OURS = {
    "REDIS_URL",
    "DATABASE_URL",
    "PROVE_PORT",
    "PROVE_HOSTS",
    "PROVE_OWNER_PASSWORD",
    "PROVE_DEMO",
    "PROVE_DATA",
    "PROVE_MCP_PORT",
    "PROVE_MCP_TOKEN",
    "PROVE_CPU_WORKERS",
}


def environment(data: Path, **given: str) -> dict[str, str]:
    return {**{name: value for name, value in os.environ.items() if name not in OURS}, "PROVE_DATA": str(data), **given}


def serve(data: Path, *arguments: str, **given: str) -> subprocess.CompletedProcess[str]:
    """Run a start that must be refused."""
    command = [sys.executable, str(ROOT / "manage.py"), "serve", *arguments]
    done = subprocess.run(command, env=environment(data, **given), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1, done.stdout
    return done


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    (line,) = done.stderr.splitlines()
    return line


class RunningSite:
    """A site that runs in a process of its own."""

    def __init__(self, data: Path, **given: str) -> None:
        self.data, self.marker, self.printed = data, uuid.uuid4().hex, ""
        self.child = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "serve", "--port", "0"],
            env=environment(data, **{MARKER: self.marker, "PROVE_DEMO": "small", "PROVE_CPU_WORKERS": "1", **given}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def until(self, words: str) -> str:
        """Read on until a line with these words, and return it."""
        assert self.child.stdout
        for line in self.child.stdout:
            self.printed += line
            if words in line:
                return line
        raise AssertionError(f"it ended without {words!r}:\n{self.printed}")

    def port(self) -> int:
        return int(self.until("PROVE Studio is at").rstrip("/\n").rpartition(":")[2])

    def end(self) -> int:
        out, _ = self.child.communicate(timeout=PATIENCE)
        self.printed += out
        return self.child.returncode

    def processes(self) -> list[int]:
        """Return the living processes with our marker, the site's own included; Valkey overwrites its marker."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                dead = folder.joinpath("stat").read_text().rpartition(")")[2].split()[0] in "ZX"
                marked = f"{MARKER}={self.marker}".encode() in folder.joinpath("environ").read_bytes()
                if not dead and (marked or str(self.data).encode() in folder.joinpath("cmdline").read_bytes()):
                    found.append(int(folder.name))
        return found

    def process(self, *words: str) -> int | None:
        """Return the oldest process whose command has these words."""
        for pid in sorted(self.processes()):
            with contextlib.suppress(OSError):
                command = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
                if all(word in command for word in words):
                    return pid
        return None

    def jobs(self) -> dict[str, tuple[str, int]]:
        """Return state and attempt of every job, by kind."""
        with contextlib.closing(sqlite3.connect(self.data / "prove.sqlite3", timeout=20)) as database:
            return {
                kind: (state, attempt)
                for kind, state, attempt in database.execute("select kind, state, attempt from live_job")
            }


@pytest.fixture
def site() -> Iterator[Callable[..., RunningSite]]:
    try:
        valkey.binary()
    except ServiceError as why:
        pytest.skip(str(why))
    if sys.platform != "linux":
        pytest.skip("needs /proc")
    made: list[RunningSite] = []

    def make(data: Path, **given: str) -> RunningSite:
        made.append(RunningSite(data, **given))
        return made[-1]

    yield make
    for each in made:
        for pid in each.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        each.child.communicate()


def answer(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def tools_at(url: str) -> list[str]:
    """Return the tools that an MCP client finds there; none while nobody answers."""

    async def listed() -> list[str]:
        async with Client(url) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    try:
        with ThreadPoolExecutor(1) as apart:  # a browser test may have left an event loop in this thread
            return apart.submit(asyncio.run, listed()).result()
    except Exception:  # however the client reports a closed port
        return []


@pytest.fixture
def data(graph_folder: Path, tmp_path: Path) -> Path:
    """Return a site's data folder, with the graph of all servers."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "graph").symlink_to(graph_folder)
    return folder


@pytest.mark.long
def test_it_starts_survives_a_kill_and_stops_without_a_trace(site, data: Path, migrated: Path) -> None:
    shutil.copy(migrated, data / "prove.sqlite3")
    first = site(data, PROVE_DEMO="none")
    port = first.port()
    assert re.search(r"user name: owner +password: (\w{4}-){3}\w{4} ", first.printed)
    assert answer(port, "/sign-in/") == 200
    assert (data / "version").exists()

    mcp = first.until("MCP clients find the servers at").split()[-1]
    eventually(lambda: tools_at(f"{mcp}/banking") == list(SERVERS["banking"].tools), "an answer of the gateway")

    server = first.process("-m", "uvicorn")
    assert server
    os.kill(server, signal.SIGKILL)
    first.until("web        | was ended by SIGKILL; starts again")
    eventually(lambda: first.process("-m", "uvicorn") not in (None, server), "another web server")

    assert len(first.processes()) >= 9
    again = serve(data, "--port", "0")
    assert f"{data} is in use by another" in refusal(again)
    assert f"process {first.child.pid}, http://127.0.0.1:{port}/" in refusal(again)

    first.child.send_signal(signal.SIGINT)
    assert first.end() == 0, first.printed
    assert first.processes() == []
    assert first.printed.endswith("Stopped. `make run` continues from here.\n")


@pytest.mark.long
def test_a_second_start_goes_on_from_the_first(site, data: Path) -> None:
    first = site(data)
    first.port()
    eventually(lambda: first.jobs()["graph"][0] in ("running", "done"), "the first job")
    first.child.send_signal(signal.SIGINT)
    assert first.end() == 0, first.printed

    second = site(data)
    assert answer(second.port(), "/sign-in/") == 200
    assert "password:" not in second.printed
    eventually(lambda: second.jobs()["graph"][0] == "done", "the end of the first job")
    second.child.kill()
    second.child.wait()
    eventually(lambda: second.processes() == [], "the end of all processes")


def test_a_port_in_use_is_one_line_with_the_way_out(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        line = refusal(serve(tmp_path / "data", PROVE_PORT=str(port)))
    assert f"port {port} is in use" in line
    assert "--port" in line and "PROVE_PORT" in line
    assert not (tmp_path / "data" / "prove.sqlite3").exists()


@pytest.fixture
def refused_here(db: None, settings, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return a function that tries a start in this process and returns the refusal."""

    def start(data: Path, *arguments: str, **given: str) -> str:
        settings.PROVE_DATA = data
        for name in OURS:
            monkeypatch.delenv(name, raising=False)
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(CommandError) as refused:
            call_command("serve", *arguments)
        assert refused.value.returncode == 1 and "\n" not in str(refused.value)
        return str(refused.value)

    return start


def test_a_port_in_use_is_refused_where_the_command_line_gives_it(tmp_path: Path, refused_here) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert f"port {port} is in use" in refused_here(tmp_path, "--port", str(port))


def test_a_folder_that_cannot_be_written_is_one_line_with_the_way_out(tmp_path: Path, refused_here) -> None:
    (tmp_path / "file").touch()
    line = refused_here(tmp_path / "file" / "data")
    assert f"cannot write to {tmp_path / 'file' / 'data'}" in line
    assert "set PROVE_DATA" in line


@pytest.mark.long
def test_a_data_folder_of_a_newer_version_is_left_byte_for_byte(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "prove.sqlite3")) as database:
        database.execute("pragma journal_mode=wal")
        database.execute("create table django_migrations (id integer primary key, app text, name text, applied text)")
        database.execute("insert into django_migrations values (1, 'live', '0099_later', '2030-01-01')")
        database.commit()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    line = refusal(serve(tmp_path, "--port", "0"))
    assert "live.0099_later, which is unknown here" in line
    assert "Nothing was changed" in line
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"PROVE_PORT": "soon"}, "PROVE_PORT='soon' is not a whole number"),
        ({"PROVE_CPU_WORKERS": "0"}, "invalid number of CPU workers, 0: choose 1 to 256 with --cpu-workers"),
        ({"PROVE_PORT": "70000"}, "70000 is not a port"),
        ({"PROVE_MCP_PORT": "70000"}, "70000 is not a port: choose one from 1024 to 65535 with PROVE_MCP_PORT"),
    ],
)
def test_a_variable_that_makes_no_sense_is_one_line(
    tmp_path: Path, given: dict[str, str], says: str, refused_here
) -> None:
    assert says in refused_here(tmp_path, **{"PROVE_PORT": "0", **given})


@pytest.mark.long
def test_an_address_of_a_broker_that_makes_no_sense_is_one_line(tmp_path: Path) -> None:
    assert "REDIS_URL is not a valid broker URL" in refusal(serve(tmp_path, PROVE_PORT="0", REDIS_URL="nonsense"))


@pytest.mark.long
def test_a_broker_that_does_not_answer_is_one_line_and_no_migration(tmp_path: Path) -> None:
    line = refusal(serve(tmp_path, "--port", "0", REDIS_URL="redis://me:secret@127.0.0.1:1/0"))
    assert "the broker at redis://***@127.0.0.1:1/0 did not answer" in line
    assert not (tmp_path / "prove.sqlite3").exists()


@pytest.fixture
def a_site(tmp_path: Path) -> Site:
    return Site(ROOT, tmp_path, "0.0.0.0", 8000, "redis://somewhere/0")


def test_no_worker_of_the_engine_sees_a_secret_of_the_web(a_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    web = ["DATABASE_URL", "DJANGO_SETTINGS_MODULE", "PROVE_METRICS_TOKEN", "PROVE_OIDC_SECRET", "SECRET_KEY"]
    for name in (*web, "PROVE_OWNER_PASSWORD"):
        monkeypatch.setenv(name, "secret")
    seen = {each.name: sorted(name for name in each.env if each.env[name] == "secret") for each in programs(a_site)}
    others: dict[str, list[str]] = {"gateway": [], "cpu-worker": [], "gpu-worker": []}
    assert seen == {"web": web, "writer": web, "web-worker": web, "files-worker": web, "beat": web, **others}


def test_each_queue_has_its_worker_and_there_is_one_clock(a_site: Site) -> None:
    commands = [list(each.command) for each in programs(a_site)]
    queues = [command[command.index("-Q") + 1] for command in commands if "-Q" in command]
    assert sorted(queues) == ["events", "files", "synthesis", "training", "web"]
    assert sum("beat" in command for command in commands) == 1
    assert all(each.env["REDIS_URL"] == "redis://somewhere/0" for each in programs(a_site))


def test_the_number_of_cpu_workers_is_configurable_and_their_jobs_know_it(a_site: Site) -> None:
    def cpu_worker(number: int) -> tuple[str, str]:
        (one,) = [each for each in programs(replace(a_site, cpu_workers=number)) if each.name == "cpu-worker"]
        return one.command[one.command.index("--concurrency") + 1], one.env["PROVE_CPU_WORKERS"]

    assert [cpu_worker(number) for number in (1, 3)] == [("1", "1"), ("3", "3")]


def answered_as(site: Site, sent: str) -> tuple[str, str]:
    """Return the client and the scheme that the web program sees in a request from this machine."""
    received: list[tuple[str, str]] = []

    async def pages(scope: dict, receive: object, send: object) -> None:
        received.append((scope["client"][0], scope["scheme"]))

    given = uvicorn.main.make_context("uvicorn", list(programs(site)[0].command[3:])).params
    config = uvicorn.Config(pages, lifespan="off", proxy_headers=given["proxy_headers"], log_config=None)
    config.load()
    headers = [(b"x-forwarded-for", sent.encode()), (b"x-forwarded-proto", b"https")]
    scope = {"type": "http", "client": ("127.0.0.1", 5), "scheme": "http", "headers": headers}
    asyncio.run(config.loaded_app(scope, None, None))
    return received[0]


def test_who_asks_is_believed_of_a_proxy_that_is_configured_and_of_nobody_else(a_site: Site, monkeypatch) -> None:
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    assert answered_as(a_site, "9.9.9.9") == ("127.0.0.1", "http")
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "10.0.0.5")
    assert answered_as(a_site, "9.9.9.9") == ("127.0.0.1", "http")
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "127.0.0.1")
    assert answered_as(a_site, "9.9.9.9") == ("9.9.9.9", "https")


def test_the_address_is_one_that_a_browser_can_open(a_site: Site) -> None:
    assert a_site.url == "http://localhost:8000/"
    assert Site(ROOT, a_site.data, "::1", 80, "").url == "http://[::1]:80/"


def test_the_page_about_running_names_every_variable_and_every_program(a_site: Site) -> None:
    page = (ROOT / "docs" / "running.md").read_text("utf-8")
    named = set(re.findall(r"^\| `([A-Z_]+)` \|", page, re.MULTILINE))
    code = "".join(path.read_text("utf-8") for path in (ROOT / "prove_web").rglob("*.py"))
    read = set(re.findall(r'env(?:str|bool|int|set)\("([A-Z_]+)"', code))
    elsewhere = {join.TOKEN, ENDPOINTS, "SECRET_KEY", OWNER_PASSWORD, MCP_TOKEN, bootstrap.DEMO, logs.SETTING}
    of_libraries = {"FORWARDED_ALLOW_IPS", "PROMETHEUS_MULTIPROC_DIR"}
    assert named == read | elsewhere | of_libraries
    programs_named = set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE))
    assert programs_named == {"broker", *(each.name for each in programs(a_site))}


def test_the_gateway_serves_others_only_with_a_token(a_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MCP_TOKEN, raising=False)
    assert a_site.mcp_host == "127.0.0.1"
    monkeypatch.setenv(MCP_TOKEN, "open sesame")
    assert a_site.mcp_host == "0.0.0.0"


@pytest.mark.long
def test_a_command_without_its_data_folder_says_what_to_do(tmp_path: Path) -> None:
    folder = tmp_path / "nowhere"
    command = [sys.executable, "manage.py", "showmigrations", "accounts"]
    environment = {name: value for name, value in os.environ.items() if name not in OURS}
    result = subprocess.run(
        command, cwd=ROOT, env={**environment, "PROVE_DATA": str(folder)}, capture_output=True, text=True
    )
    assert result.returncode == 1 and result.stdout == ""
    assert (
        result.stderr.startswith(f"There is no data folder {folder}. Set PROVE_DATA")
        and "Traceback" not in result.stderr
    )
    assert not folder.exists()
