"""Servers that others wrote: ours run as strangers, hostile ones, and real public ones from PyPI and npm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_gateway import SECRET, Running

from mcp_servers.catalogue import SERVERS
from mcp_servers.mcp.external import External, ServerFailed, external_servers
from mcp_servers.mcp.gateway import Ticket
from mcp_servers.mcp.ssrf import is_public
from tests.waiting import PATIENCE, eventually

ROOT = Path(__file__).parents[2]
BANKING = External(
    "bank",
    command=(sys.executable, "-m", "mcp_servers", "banking", "--seed", "7", "--size", "small"),
    environment={"PYTHONPATH": str(ROOT)},
)


def script(tmp_path: Path, code: str, **options: Any) -> External:
    """Return a server that runs this code, with functions that answer requests."""
    path = tmp_path / "server.py"
    path.write_text(PREAMBLE + textwrap.dedent(code))
    return External("stranger", command=(sys.executable, str(path)), **options)


PREAMBLE = """
import json, os, subprocess, sys, time

def tool(name):
    return {"name": name, "inputSchema": {"type": "object"}}

def serve(call, tools=("act",)):
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        match asked["method"]:
            case "initialize":
                about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
                answer = {"result": {"protocolVersion": "2025-11-25", **about}}
            case "tools/list":
                answer = {"result": {"tools": [tool(name) for name in tools]}}
            case "tools/call":
                answer = call(asked["params"])
            case _:
                answer = {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)

def text(said):
    return {"result": {"content": [{"type": "text", "text": said}]}}
"""


def living(marker: str) -> list[int]:
    """The processes with this word among their arguments."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if marker.encode() in words and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found


@pytest.mark.long
def test_a_server_of_ours_says_the_same_as_a_strangers() -> None:
    direct = SERVERS["banking"].open(7, "small")
    with BANKING.open() as session:
        assert list(session.tools) == list(SERVERS["banking"].tools)
        for name, arguments in [
            ("list_accounts", {}),
            ("get_account", {"account": "ACC-0000"}),
            ("freeze_card", {"x": 1}),
        ]:
            assert session.call(name, arguments) == direct.call(name, arguments)


def test_sessions_do_not_see_each_other() -> None:
    with BANKING.open() as one, BANKING.open() as other:
        card = next(row for row in one.call("list_cards", {}).data if row["status"] == "active")["id"]
        assert one.call("freeze_card", {"card": card}).ok
        assert other.call("freeze_card", {"card": card}).ok, "it is frozen in the one alone"


def test_what_no_tool_should_see_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    with script(tmp_path, "serve(lambda asked: text('it was sent'))").open() as session:
        assert session.call("nothing", {}).data["error"] == "unknown_tool"
        assert session.call("act", "no json").data["error"] == "invalid_json"


def test_a_url_is_called_the_same_way_where_the_operator_allows_it() -> None:
    with Running() as running:
        url = f"{running.base}/mcp/{Ticket('guest', 7, 'small').sign_token(SECRET)}/banking"
        with External("bank", url=url, private=True).open() as session:
            assert session.call("list_accounts", {}) == SERVERS["banking"].open(7, "small").call("list_accounts", {})


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1", "0.0.0.0", "2130706433"]
)
def test_an_address_inside_the_network_is_not_called(host: str) -> None:
    with pytest.raises(ServerFailed, match=r"inside a network: only the operator|has no address"):
        External("inside", url=f"http://{host}:9/mcp").open()


def test_public_addresses_are_distinguished_from_the_others() -> None:
    public = ["93.184.215.14", "2606:4700::1111"]
    inside = [
        "192.168.1.1",
        "172.16.0.1",
        "100.64.0.1",
        "::",
        "fe80::1%eth0",
        "fd00::1",
        "::ffff:127.0.0.1",
        "224.0.0.1",
    ]
    assert [is_public(address) for address in (*public, *inside)] == [True] * 2 + [False] * len(inside)


@pytest.mark.parametrize(
    ("external", "says"),
    [
        (External("gone", ("/nowhere/server",)), "/nowhere/server cannot be started: No such file or directory"),
        (External("quits", (sys.executable, "-c", "raise SystemExit('no licence')")), "It said: no licence"),
        (External("mute", ("sleep", "60"), start_seconds=0.5), "could not be talked to within 0.5 seconds"),
        (External("away", url="http://127.0.0.1:9/mcp", private=True), "could not be talked to"),
        (External("lost", url="http://no-such-host.invalid/mcp"), "no-such-host.invalid has no address"),
    ],
    ids=lambda value: value.name if isinstance(value, External) else "",
)
def test_a_start_that_fails_is_one_line_that_names_server_and_reason(external: External, says: str) -> None:
    with pytest.raises(ServerFailed) as failed:
        external.open()
    assert str(failed.value).startswith(f"{external.name} did not start.") and says in str(failed.value)
    assert "\n" not in str(failed.value) and "Traceback" not in str(failed.value)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("lambda asked: time.sleep(60)", "stranger did not answer act within 1 seconds"),
        ("lambda asked: os._exit(3)", "stranger"),
        ("lambda asked: text('x' * 200_000)", "stranger answered act with 200,000 characters; 100,000 are read"),
        ("lambda asked: {'error': {'code': 5, 'message': 'broken\\x1b[31m\\n'}}", "could not do act: broken [31m"),
        ("lambda asked: {'result': {'content': 'nonsense'}}", "stranger"),
    ],
)
def test_what_goes_wrong_during_a_call_is_no_reply(tmp_path: Path, call: str, says: str) -> None:
    with script(tmp_path, f"serve({call})", call_seconds=1).open() as session:
        with pytest.raises(ServerFailed) as failed:
            session.call("act", {})
        assert says in str(failed.value) and "\n" not in str(failed.value)


def test_after_its_server_died_a_session_says_so(tmp_path: Path) -> None:
    with script(tmp_path, "serve(lambda asked: os._exit(3))", call_seconds=2).open() as session:
        for _ in range(2):
            with pytest.raises(ServerFailed, match="stranger"):
                session.call("act", {})


def test_noise_on_its_output_does_not_matter_and_text_is_passed_on_as_json(tmp_path: Path) -> None:
    code = "print('hello', flush=True); print('{}', flush=True)\nserve(lambda asked: text('plain <b>words</b>'))"
    with script(tmp_path, code).open() as session:
        assert session.call("act", {}).data == "plain <b>words</b>"


def test_it_gets_a_clean_environment_and_what_the_operator_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://secret")
    given = {"environment": {"API_KEY": "given"}}
    with script(tmp_path, "serve(lambda asked: text(json.dumps(dict(os.environ))))", **given).open() as session:
        seen = session.call("act", {}).data
    assert seen["API_KEY"] == "given" and "DATABASE_URL" not in seen and "PROVE_DATA" not in seen


def test_it_has_limits(tmp_path: Path) -> None:
    code = """
        def act(asked):
            try:
                return text(str(len(bytearray(400_000_000))))
            except MemoryError:
                return text("no memory")
        serve(act)
    """
    with script(tmp_path, code, megabytes=300).open() as session:
        assert session.call("act", {}).data == "no memory"


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_when_a_session_is_closed_nothing_of_its_server_is_left(tmp_path: Path) -> None:
    marker = f"marker{time.monotonic_ns()}"
    code = f"""
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "{marker}"])
        serve(lambda asked: text("ok"))
    """
    session = script(tmp_path, code).open()
    assert session.call("act", {}).ok and len(living(marker)) == 1
    session.close()
    session.close()
    eventually(lambda: not living(marker) and not living(str(tmp_path)), "the end of all its processes")


def test_the_operators_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "servers.toml"
    path.write_text(
        '[time]\ncommand = ["server", "--x"]\nmegabytes = 500\n[weather]\nurl = "https://mcp.example.com"\n'
    )
    assert external_servers(path) == {
        "time": External("time", ("server", "--x"), megabytes=500),
        "weather": External("weather", url="https://mcp.example.com"),
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[time", "cannot be read"),
        ("[time]", "give either a command or a url"),
        ('[time]\ncommand = ["x"]\nurl = "y"', "give either a command or a url"),
        ('[time]\ncommand = "rm -rf"', "command = 'rm -rf' is not understood"),
        ('[time]\ncommand = ["x", 3]', "a command is a list of texts"),
        ('[time]\ncommand = ["x"]\nshell = true', "shell = True is not understood; known are command, url"),
        ('["no name!"]\ncommand = ["x"]', "small letters, digits and _ only"),
    ],
)
def test_what_an_operator_got_wrong_is_named_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "servers.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"servers\.toml") as error:
        external_servers(path)
    assert says in str(error.value)


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Public servers from PyPI and npm, in environments of their own; left out where they cannot be downloaded."""
    folder = tmp_path_factory.mktemp("strangers")
    python = folder / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(python)], check=True, timeout=PATIENCE)
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--retries", "1", "--no-compile"]
    done = subprocess.run([*pip, "mcp-server-time==2026.10.19"], capture_output=True, timeout=PATIENCE)
    if done.returncode:
        pytest.skip("mcp-server-time cannot be had from PyPI here")
    yield folder


@pytest.mark.long
def test_a_server_from_pypi(strangers: Path) -> None:
    with External("time", (str(strangers / "python" / "bin" / "mcp-server-time"),)).open() as session:
        assert {"get_current_time", "convert_time"} <= set(session.tools)
        arguments = {"source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        assert session.call("convert_time", arguments).data["target"]["timezone"] == "Asia/Tokyo"
        assert not session.call("get_current_time", {"timezone": "Nowhere/Land"}).ok


@pytest.mark.long
def test_a_server_from_npm(strangers: Path) -> None:
    npm = shutil.which("npm")
    package = "@modelcontextprotocol/server-memory"
    if (
        not npm
        or subprocess.run(
            [npm, "install", "--silent", "--prefix", str(strangers), package], capture_output=True, timeout=PATIENCE
        ).returncode
    ):
        pytest.skip(f"{package} cannot be had from npm here")
    command = str(strangers / "node_modules" / ".bin" / "mcp-server-memory")
    memory = External("memory", (command,), environment={"MEMORY_FILE_PATH": str(strangers / "memory.json")})
    entity = {"name": "Ada", "entityType": "person", "observations": ["counts"]}
    with memory.open() as session:
        assert session.call("create_entities", {"entities": [entity]}).ok
        assert json.loads(session.call("read_graph", {}).text)["entities"][0]["name"] == "Ada"
