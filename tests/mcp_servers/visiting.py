"""A gateway on a real socket, and what clients of it do."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from mcp import Client
from mcp.shared.exceptions import MCPError

from mcp_servers.mcp.adapter import SESSION
from mcp_servers.mcp.gateway import Gateway, Options

SECRET = b"x" * 32
META = {SESSION: "mine"}


class Running:
    """A gateway on a free port, in a thread of its own."""

    def __init__(self, **options: Any):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        gateway = Gateway(Options(port=self.port, size="small", seed=7, secret=SECRET, **options))
        self.visitors = gateway.visitors
        self.server = uvicorn.Server(uvicorn.Config(gateway.app, port=self.port, log_level="error"))
        self.thread = threading.Thread(target=self.server.run)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Running:
        self.thread.start()
        while not self.server.started:
            threading.Event().wait(0.02)
        return self

    def __exit__(self, *rest: object) -> None:
        self.server.should_exit = True
        self.thread.join(10)


def visit(url: str, scene: Callable[[Client], Awaitable[Any]], **options: Any) -> Any:
    async def connect_and_run() -> Any:
        async with Client(url, **options) as client:
            return await scene(client)

    return asyncio.run(connect_and_run())


def refused(url: str, scene: Callable[[Client], Awaitable[Any]]) -> str:
    """The error a scene ends with."""

    async def caught(client: Client) -> str:
        with pytest.raises(MCPError) as error:
            await scene(client)
        return str(error.value.message)

    return str(visit(url, caught))


async def accounts(client: Client, meta: dict[str, str] | None = META) -> list[dict[str, Any]]:
    result = await client.call_tool("list_accounts", {}, meta=meta)
    return list(json.loads(result.content[0].text))


async def move_money(client: Client, meta: dict[str, str] | None = META) -> None:
    """From one open account to another of its currency."""
    rows = [row for row in await accounts(client, meta) if row["status"] == "open"]
    source, target = next((a, b) for a in rows for b in rows if a["id"] != b["id"] and a["currency"] == b["currency"])
    given = {"source": source["id"], "target": target["id"], "amount": 5}
    assert not (await client.call_tool("transfer_money", given, meta=meta)).is_error
