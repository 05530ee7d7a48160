"""The programs of the site, and their environments."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from prove_web.core.broker import socket_path

from .program import Program

OWNER_PASSWORD = "PROVE_OWNER_PASSWORD"
MCP_TOKEN = "PROVE_MCP_TOKEN"
CPU_WORKERS = "PROVE_CPU_WORKERS"
PROXIES = "FORWARDED_ALLOW_IPS"  # uvicorn's variable
SUPERVISED = "PROVE_SUPERVISED"  # tells the site's pages that a supervisor acts on their requests
# Hidden from the engine's workers: secrets, and the setting by which Celery would load Django.
WEB_ALONE = {"DATABASE_URL", "SECRET_KEY", "PROVE_METRICS_TOKEN", "PROVE_OIDC_SECRET", "DJANGO_SETTINGS_MODULE"}
FILES_AT_ONCE = 2  # parallel exports and curated datasets
CHECKPOINT_GRACE = 20.0  # seconds that a trainer gets to write its checkpoint
QUIET_WORKER = ("--loglevel", "WARNING", "--without-gossip", "--without-mingle", "--without-heartbeat")
PLAIN_LOG = (
    "--",
    "worker.log_format=%(levelname)s %(message)s",
    "worker.task_log_format=%(levelname)s %(message)s",
    "worker.redirect_stdouts=false",
)
# Lines that Celery prints at every stop, and long warnings about a changing default at every lost connection.
NOISE = (
    *("Warm shutdown", "Cold shutdown", "Hitting Ctrl+C again", "Trying again in"),
    *("CPendingDeprecationWarning", "In Celery 5.1 ", "on connection loss cancels all currently executed tasks"),
    *(
        "These tasks cannot be acknowledged as the connection is gone",
        "back to the queue. You can enable this behavior",
    ),
    "self.on_connection_error_after_connected(exc)",
)


@dataclass(frozen=True)
class Site:
    """Location of the site on this machine."""

    base: Path  # the folder of manage.py
    data: Path
    host: str
    port: int
    broker_url: str
    mcp_port: int = 0
    cpu_workers: int = 1

    @property
    def mcp_host(self) -> str:
        """Return the gateway's host; only with a token may other machines reach it."""
        return self.host if os.environ.get(MCP_TOKEN) else "127.0.0.1"

    @property
    def url(self) -> str:
        return f"{address(self.host, self.port)}/"

    @property
    def mcp_url(self) -> str:
        return f"{address(self.mcp_host, self.mcp_port)}/mcp"

    def environment(self) -> dict[str, str]:
        """Return the environment of every program, without the owner's password."""
        given = {name: value for name, value in os.environ.items() if name != OWNER_PASSWORD}
        quiet = "ignore:You're running the worker with superuser privileges"
        return {
            **given,
            "PROVE_DATA": str(self.data),
            "REDIS_URL": self.broker_url,
            "PROVE_MCP_PORT": str(self.mcp_port),  # the gateway's actual port, which may differ from the requested one
            CPU_WORKERS: str(self.cpu_workers),
            SUPERVISED: "1",
            "PYTHONUNBUFFERED": "1",
            "CELERY_SKIP_CHECKS": "1",  # Django's checks load all pages, which workers do not serve
            "PYTHONWARNINGS": ",".join(filter(None, [given.get("PYTHONWARNINGS"), quiet])),
        }


def address(host: str, port: int) -> str:
    name = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"


def programs(site: Site) -> list[Program]:
    """Return all programs except the broker in start order. The event writer stops after the workers."""
    web = site.environment()
    engine = {name: value for name, value in web.items() if name not in WEB_ALONE}
    prove_web, training_worker = "prove_web.celery", "training_worker.worker.app"
    cpu_workers = worker(training_worker, "synthesis", processes=site.cpu_workers)
    return [
        Program("web", uvicorn(site), web, site.base),
        Program("gateway", gateway(site), engine, site.base, stopped=stopped_file(site.data)),
        Program("writer", worker(prove_web, "events", "solo"), web, site.base, stop_order=1, noise=NOISE),
        Program("web-worker", worker(prove_web, "web", "solo"), web, site.base, noise=NOISE),
        Program("files-worker", worker(prove_web, "files", processes=FILES_AT_ONCE), web, site.base, noise=NOISE),
        Program("beat", beat(), web, site.base),
        Program("cpu-worker", cpu_workers, engine, site.base, noise=NOISE),
        Program("gpu-worker", worker(training_worker, "training"), engine, site.base, CHECKPOINT_GRACE, noise=NOISE),
    ]


def uvicorn(site: Site) -> tuple[str, ...]:
    options: Mapping[str, str] = {
        "host": site.host,
        "port": str(site.port),
        "ws": "websockets-sansio",
        "ws-max-size": "65536",
        "lifespan": "off",
        "log-level": "warning",
        "timeout-graceful-shutdown": "2",
    }
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    quiet = ("--no-access-log", "--no-server-header")
    # By default, uvicorn trusts proxy headers from every program on this machine.
    alone = () if os.environ.get(PROXIES) else ("--no-proxy-headers",)
    return (sys.executable, "-m", "uvicorn", "prove_web.asgi:application", *quiet, *alone, *words)


def gateway(site: Site) -> tuple[str, ...]:
    """Return the command of the MCP gateway with all servers; it has no access to database or broker."""
    options = {
        "host": site.mcp_host,
        "port": str(site.mcp_port),
        "secret-file": str(secret_file(site.data)),
        "control": str(socket_path(site.data, "gateway")),
        "registry": str(registry_file(site.data)),
    }
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    allowed = [word for name in os.environ.get("PROVE_HOSTS", "").split(",") if name for word in ("--allow", name)]
    return (sys.executable, "-m", "mcp_servers", "--http", "--quiet", *words, *allowed)


def secret_file(data: Path) -> Path:
    """Return the file with the key that signs the gateway's URLs."""
    return data / "mcp_secret"


def registry_file(data: Path) -> Path:
    """Return the gateway's session registry, by which it recognises ended sessions after a restart."""
    return data / "gateway" / "sessions.sqlite3"


def stopped_file(data: Path) -> Path:
    """Return the file that stops the gateway while it exists; it records who stopped it and when."""
    return data / "gateway" / "stopped.json"


def worker(app: str, queue: str, pool: str = "prefork", processes: int = 1) -> tuple[str, ...]:
    name = ("-n", f"{queue}@%h", "-Q", queue)
    size = ("--pool", pool, "--concurrency", str(processes), "--prefetch-multiplier", "1")
    return (sys.executable, "-m", "celery", "--quiet", "-A", app, "worker", *name, *size, *QUIET_WORKER, *PLAIN_LOG)


def beat() -> tuple[str, ...]:
    """Return the command of the scheduler; its schedule is in the settings, so it stores none in a file."""
    options = ("-S", "celery.beat:Scheduler", "--loglevel", "WARNING")
    return (sys.executable, "-m", "celery", "--quiet", "-A", "prove_web.celery", "beat", *options)
