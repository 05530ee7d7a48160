"""The command line: python -m mcp_servers."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_servers.__main__ import main
from mcp_servers.catalogue import SERVERS
from mcp_servers.mcp.gateway import Ticket

ROOT = Path(__file__).parents[2]
THERE = ", ".join(SERVERS)
BANKING = [sys.executable, "-m", "mcp_servers", "banking", "--size", "small"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def test_the_list_has_a_line_for_each_server(capsys):
    assert main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines] == [
        [name, str(len(one.tools)), "tools"] for name, one in SERVERS.items()
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bank"], f"There is no server 'bank'; there are {THERE}.\n"),
        ([], f"Name a server, or give --http; there are {THERE}.\n"),
    ],
)
def test_a_server_that_is_not_there_is_one_line_and_exit_code_2(arguments, said, capsys):
    assert main(arguments) == 2
    assert capsys.readouterr().err == said


def greeted() -> subprocess.Popen[str]:
    """A server that has answered its first message."""
    pipe = subprocess.PIPE
    child = subprocess.Popen(BANKING, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)
    child.stdin.write(json.dumps(HELLO) + "\n")
    child.stdin.flush()
    assert json.loads(child.stdout.readline())["result"]["serverInfo"]["name"] == "banking"
    return child


def test_ctrl_c_ends_it_without_a_word():
    with greeted() as child:
        child.send_signal(signal.SIGINT)
        said = child.stdout.read(), child.stderr.read()
    assert (child.returncode, said) == (-signal.SIGINT, ("", ""))


@pytest.mark.long
def test_it_ends_when_its_client_goes():
    with greeted() as child:
        child.stdin.close()
        said = child.stdout.read(), child.stderr.read()
    assert (child.returncode, said) == (0, ("", ""))


def test_a_signed_path_is_printed_and_its_secret_is_the_owners_alone(tmp_path, capsys):
    secret = tmp_path / "secret"
    arguments = ["banking", "--sign", "alice", "--seed", "8", "--secret-file", str(secret)]
    assert main(arguments) == main(arguments) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second and secret.stat().st_mode & 0o077 == 0
    _, _, token, server = first.split("/")
    assert server == "banking" and Ticket.read(token, secret.read_text().encode()) == Ticket("alice", 8, "default")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--sign", "alice"], "--sign needs --secret-file"),
        (["--http", "--secret-file", "/"], "directory"),
        (["--http", "--host", "0.0.0.0"], "0.0.0.0 can be reached by others: set a bearer token (PROVE_MCP_TOKEN)"),
    ],
)
def test_options_that_make_no_sense_are_one_line_and_exit_code_2(arguments, says, capsys, monkeypatch):
    monkeypatch.delenv("PROVE_MCP_TOKEN", raising=False)
    assert main(arguments) == 2
    assert says in capsys.readouterr().err.splitlines()[-1]


def test_the_list_names_the_servers_that_the_operator_allows(tmp_path, capsys, monkeypatch):
    path = tmp_path / "servers.toml"
    path.write_text(
        f'[bank]\ncommand = ["{sys.executable}", "-m", "mcp_servers", "banking"]\n'
        f'environment = {{PYTHONPATH = "{ROOT}"}}\n[gone]\ncommand = ["/nowhere"]\n'
    )
    monkeypatch.setenv("PROVE_EXTERNAL", str(path))
    assert main(["--list"]) == 1
    out, error = capsys.readouterr()
    assert "bank            17 tools  external: list_accounts, " in out
    assert error == (
        "gone           gone did not start. Its program could not be talked to: Connection closed. "
        "It said: /nowhere cannot be started: No such file or directory\n"
    )
    path.write_text("[gone]")
    assert main(["--list"]) == 2 and "PROVE_EXTERNAL: " in capsys.readouterr().err
