"""The page on MCP clients: every way of connecting that it shows works."""

import asyncio
import json
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from mcp_servers.__main__ import main
from mcp_servers.catalogue import SERVERS
from mcp_servers.mcp.external import External, external_servers
from tests.waiting import PATIENCE, eventually

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "mcp.md").read_text("utf-8")
USUAL = "http://127.0.0.1:8765"
BANKING = list(SERVERS["banking"].tools)


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.S | re.M)
    return str(found)


@pytest.fixture(scope="module")
def gateway() -> Iterator[str]:
    """The gateway as the page starts it, on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = block("text").split()
    assert words[0] == ".venv/bin/python"
    with subprocess.Popen([sys.executable, *words[1:], "--port", str(port)], cwd=ROOT) as process:
        eventually(lambda: process.poll() is not None or answers(port), "an answer of the gateway")
        assert process.poll() is None, "the gateway must start"
        yield f"http://127.0.0.1:{port}"
        process.terminate()


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_configuration_of_claude_desktop_starts_a_server() -> None:
    (given,) = json.loads(block("json"))["mcpServers"].values()
    assert given["command"] == "/path/to/prove/.venv/bin/python"
    environment = {name: value.replace("/path/to/prove", str(ROOT)) for name, value in given["env"].items()}

    async def listed() -> list[str]:
        server = StdioServerParameters(command=sys.executable, args=given["args"], env=environment, cwd="/")
        async with Client(server) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    with ThreadPoolExecutor(1) as apart:  # a browser test may have left an event loop in this thread
        assert apart.submit(asyncio.run, listed()).result() == BANKING


def test_the_python_client_over_http_reads_its_accounts(gateway: str, tmp_path: Path) -> None:
    code = block("py").replace(USUAL, gateway)
    assert gateway in code
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["id"].startswith("ACC-")


def test_the_inspector_lists_the_tools(gateway: str) -> None:
    npx = shutil.which("npx")
    words = block("bash").replace(USUAL, gateway).split()
    assert words[0] == "npx" and gateway in words[3]
    if (
        not npx
        or subprocess.run([npx, "--no", "--", words[1], "--help"], capture_output=True, timeout=PATIENCE).returncode
    ):
        pytest.skip("the Inspector is not installed here (npm install -g @modelcontextprotocol/inspector, Node 22)")
    done = subprocess.run([npx, "--no", "--", *words[1:]], capture_output=True, text=True, timeout=PATIENCE)
    assert [tool["name"] for tool in json.loads(done.stdout)["tools"]] == BANKING


def test_a_signed_path_is_printed_as_the_page_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = re.findall(r"`python -m mcp_servers (banking --sign [^`]*)`", PAGE)
    words = command.replace("data/mcp_secret", str(tmp_path / "secret")).split()
    assert main(words) == 0
    assert re.fullmatch(r"/mcp/[\w-]+\.[\w-]+/banking\n", capsys.readouterr().out)


@pytest.mark.long
def test_the_operators_file_is_one_that_is_read(tmp_path: Path) -> None:
    path = tmp_path / "servers.toml"
    path.write_text(block("toml"))
    assert external_servers(path) == {
        "time": External("time", ("/opt/servers/bin/mcp-server-time",), environment={"TZ": "UTC"}, megabytes=500),
        "weather": External("weather", url="https://mcp.example.com/mcp", call_seconds=20),
    }
