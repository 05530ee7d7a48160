"""The gateway with the official TypeScript client, which throws on a result that its schema does not allow."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from record import Record, record
from visiting import Running

from mcp_servers.catalogue import SERVERS, TOOLS

SDK = "@modelcontextprotocol/sdk@1.32.2"
SCRIPT = Path(__file__).with_name("typescript_client.mjs")
OFFLINE = ("EAI_AGAIN", "ENOTFOUND", "ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH")


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client in a folder of its own with the SDK beside it."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("This test needs node and npm, and this machine has none.")
    folder = tmp_path_factory.mktemp("typescript")
    install = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder), SDK]
    done = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode and any(code in done.stderr for code in OFFLINE):
        pytest.skip("This test needs the npm registry, which cannot be reached from here.")
    assert done.returncode == 0, done.stderr
    return Path(shutil.copy(SCRIPT, folder))


@pytest.mark.long
def test_the_typescript_client_takes_every_result_on_a_walk(script: Path) -> None:
    walks = {name: record(server, 7, "small", 220) for name, server in SERVERS.items()}
    done = {name: answered(walk) for name, walk in walks.items()}
    with Running() as gateway:
        requests = {name: [(tool, json.loads(given)) for tool, given, _ in calls] for name, calls in done.items()}
        given = json.dumps({"base": gateway.base, "servers": requests})
        ran = subprocess.run(["node", str(script)], input=given, capture_output=True, text=True, timeout=500)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    for name, calls in done.items():
        assert found[name]["tools"] == list(SERVERS[name].tools)
        for (tool, _, text), reply in zip(calls, found[name]["replies"], strict=True):
            assert reply == {"text": text, "failed": False}, tool
    called = {tool for calls in done.values() for tool, _, _ in calls}
    assert len(called) > 0.85 * len(TOOLS)


def answered(walk: Record) -> list[tuple[str, str, str]]:
    """Return the calls that worked, with their replies; those that were refused changed nothing."""
    return [(moment.tool, moment.arguments, moment.reply.text) for moment in walk.moments if moment.reply.ok]
