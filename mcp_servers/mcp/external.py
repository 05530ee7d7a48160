"""Third-party MCP servers behind the interface of the built-in ones: one process or connection per session.

A session always closes its process or connection. Only the operator of the machine can allow a server, in the TOML file
that `PROVE_EXTERNAL` names; no role in the application is enough, because a command runs on this host and an address is
called from inside this network:

    [time]
    command = ["/opt/servers/bin/mcp-server-time"]

    [weather]
    url = "https://mcp.example.com/mcp"

A failure between this process and a server raises ServerFailed: it is never a reply, and never the model's fault.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import sys
import tempfile
import tomllib
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from threading import Thread
from typing import Any, TextIO, TypeVar

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import Tool as McpTool

from ..core import Reply, ServerFailed, ToolError
from ..core.arguments import canonical
from ..core.session import refusal
from .ssrf import is_public

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
MOST_TEXT = 100_000  # characters of one reply
MOST_TOOLS = 500
LAST_WORDS = 500  # characters quoted of a failed program's standard error
LAUNCH = Path(__file__).with_name("process_sandbox.py")
T = TypeVar("T")


REPORTED = (ServerFailed, OSError, MCPError, httpx2.HTTPError)  # errors whose text is shown to the user


@dataclass(frozen=True)
class External:
    """A server from the operator's file: a command, run without a shell, or a URL.

    `environment` is passed to the command in addition to PATH, HOME and the like; `private` permits a URL inside this
    network; `start_seconds` and `call_seconds` are time limits; `megabytes` is the memory limit of its program.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    private: bool = False
    start_seconds: float = 30.0
    call_seconds: float = 30.0
    megabytes: int = 2_000

    def open(self) -> ExternalSession:
        """Open a new session. Raises ServerFailed."""
        return ExternalSession(self)


def external_servers(path: Path) -> dict[str, External]:
    """Return the servers of an operator's file by name. Raises ValueError, which says what is wrong and where."""
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    return {name: parse_external_server(path, name, given) for name, given in tables.items()}


def parse_external_server(path: Path, name: str, given: Any) -> External:
    kinds = {"command": list, "url": str, "environment": dict, "private": bool, "megabytes": int}
    known = {one.name: kinds.get(one.name, (int, float)) for one in fields(External) if one.name != "name"}
    where = f"{path}, [{name}]"
    if not NAME.fullmatch(name) or not isinstance(given, dict):
        raise ValueError(f"{where}: a server is a table whose name has small letters, digits and _ only.")
    for key, value in given.items():
        if key not in known or not isinstance(value, known[key]):
            raise ValueError(f"{where}: {key} = {value!r} is not understood; known are {', '.join(known)}.")
    command, environment = given.get("command", []), given.get("environment", {})
    if not all(isinstance(word, str) for word in [*command, *environment.values()]):
        raise ValueError(f"{where}: a command is a list of texts, an environment a table of texts.")
    if bool(command) == bool(given.get("url")):
        raise ValueError(f"{where}: give either a command or a url.")
    return External(name, **{**given, "command": tuple(command)})


class ExternalSession:
    """A running server for one caller. Close it or use it as a context manager; it also ends with this process."""

    def __init__(self, external: External):
        self.external = external
        self.loop = asyncio.new_event_loop()
        self.thread = Thread(target=self.loop.run_forever, name=f"external {external.name}", daemon=True)
        self.thread.start()
        self.ending, self.ready = asyncio.Event(), Future[list[McpTool]]()
        self.ended = asyncio.run_coroutine_threadsafe(self.live(), self.loop)
        try:
            self.tools = {tool.name: tool for tool in self.ready.result()}
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> ExternalSession:
        return self

    def __exit__(self, *rest: object) -> None:
        self.close()

    def call(self, name: str, arguments: str | dict[str, Any]) -> Reply:
        """Run a tool. A refusal by the server is a reply. Raises ServerFailed for any other failure."""
        try:
            given = json.loads(canonical(arguments))
            if name not in self.tools:
                raise ToolError("unknown_tool", f"{self.external.name} has no tool {name[:100]!r}.")
        except ToolError as error:
            return refusal(error)
        if self.ended.done():
            raise ServerFailed(f"{self.external.name} is not running any more; open a new session.")
        return self.wait(self.call_with_timeout(name, given))

    def close(self) -> None:
        """End the server with all its processes; may be called twice."""
        if self.thread.is_alive():
            self.loop.call_soon_threadsafe(self.ending.set)
            with suppress(Exception):
                self.ended.result(timeout=20)
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join(5)
            self.loop.close()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    async def live(self) -> None:
        """Run the server from start to end in one task, as its transport requires."""
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
            try:
                async with asyncio.timeout(self.external.start_seconds) as patience:
                    async with AsyncExitStack() as running:
                        client = await running.enter_async_context(connect_client(self.external, said))
                        tools = await every_tool(client)
                        patience.reschedule(None)
                        self.client = client
                        self.ready.set_result(tools)
                        await self.ending.wait()
            except BaseException as error:
                if not self.ready.done():
                    self.ready.set_exception(ServerFailed(why_not_started(self.external, error, last_words(said))))

    async def call_with_timeout(self, name: str, arguments: dict[str, Any]) -> Reply:
        seconds, server = self.external.call_seconds, self.external.name
        try:
            async with asyncio.timeout(seconds):
                result = await self.client.call_tool(name, arguments)
        except TimeoutError:
            raise ServerFailed(f"{server} did not answer {name} within {seconds:g} seconds.") from None
        except MCPError as error:
            raise ServerFailed(f"{server} could not do {name}: {printable(error.message)}") from None
        except Exception as error:  # a closed pipe, a reset connection, a response that is not MCP
            raise ServerFailed(f"{server} broke off during {name}: {printable(innermost(error))}") from None
        texts = [getattr(part, "text", f"[{part.type}]") for part in result.content]
        text = "\n".join(texts)
        if len(text) > MOST_TEXT:
            raise ServerFailed(f"{server} answered {name} with {len(text):,} characters; {MOST_TEXT:,} are read.")
        return Reply(not result.is_error, text if is_json(text) else json.dumps(text, ensure_ascii=False))


async def every_tool(client: Client) -> list[McpTool]:
    found: list[McpTool] = []
    cursor = None
    while True:
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if not cursor or len(found) > MOST_TOOLS:
            return found[:MOST_TOOLS]


@asynccontextmanager
async def connect_client(external: External, said: TextIO) -> AsyncIterator[Client]:
    """Connect a client to the server; its program writes its standard error to `said`."""
    if external.command:
        words = ["-I", "-S", str(LAUNCH), str(external.megabytes), "--", *external.command]
        program = StdioServerParameters(command=sys.executable, args=words, env=external.environment)
        async with Client(stdio_client(program, errlog=said)) as client:
            yield client
    else:
        guard = None if external.private else Guard()
        async with (
            httpx2.AsyncClient(transport=guard, timeout=external.call_seconds) as http,
            Client(streamable_http_client(external.url, http_client=http)) as client,
        ):
            yield client


class Guard(httpx2.AsyncHTTPTransport):
    """HTTP transport that connects only to public addresses, and to exactly the address that was checked."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host = request.url.host
        request.url = request.url.copy_with(host=await public_address(host, request.url.port or 443))
        request.extensions = {**request.extensions, "sni_hostname": host}
        return await super().handle_async_request(request)


async def public_address(host: str, port: int) -> str:
    """Return an address of the host. Raises ServerFailed if it has none, or if any of them is not public."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        raise ServerFailed(f"{host} has no address: is its name right, and is there a network?") from None
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    for address in addresses:
        if not is_public(address):
            raise ServerFailed(f"{host} is at {address}, inside a network: only the operator can allow that (private).")
    return addresses[0]


def why_not_started(external: External, error: BaseException, said: str) -> str:
    """Explain a failed start in one sentence, followed by the program's last output, if any."""
    what = "The server at its url" if external.url else "Its program"
    inner = innermost(error)
    reason = (
        f": {printable(inner)}".rstrip(".")
        if isinstance(inner, ServerFailed | OSError | MCPError | httpx2.HTTPError)
        else ""
    )
    if isinstance(error, TimeoutError):
        reason = f" within {external.start_seconds:g} seconds"
    words = f" It said: {said}" if said else ""
    return f"{external.name} did not start. {what} could not be talked to{reason}.{words}"


def innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def last_words(said: TextIO) -> str:
    said.seek(0)
    return printable(said.read()[-LAST_WORDS:])


def printable(text: object) -> str:
    """Return untrusted text on one line, shortened and without control characters."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in str(text)).split())[:LAST_WORDS]


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
