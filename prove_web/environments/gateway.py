"""The MCP gateway as the site sees it: a process of its own, asked over its control plane how it and its sessions are.

Whether it is to run is a file in the data folder that the supervisor heeds; where none looks after the site, the
gateway is started and ended by hand.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from prove_web.accounts.models import Membership, Organisation, Project, User
from prove_web.accounts.roles import Action, Role
from prove_web.broker import socket_path
from prove_web.env import envint
from prove_web.supervisor.programs import SUPERVISED, address, registry_file, secret_file, stopped_file

PATIENCE = 1.0  # seconds
PORT = 8765
LARGEST = 50_000_000  # bytes of an answer
LOCAL = "127.0.0.1"


class Away(Exception):
    """The gateway was asked and did not do it; the message says why and what to do."""


@dataclass(frozen=True)
class Session:
    """A session that the gateway has open, or one that ended."""

    id: str
    kind: str
    name: str
    owner: str
    seed: int
    size: str
    servers: tuple[str, ...]
    client: str
    calls: int
    opened: datetime
    used: datetime
    ended: datetime | None
    address: str
    reason: str = ""  # of its end

    @property
    def why(self) -> str:
        """Why it ended, as far as nobody stopped it."""
        return {"idle": "idle timeout", "crowded": "session limit reached", "restart": "gateway restarted"}.get(
            self.reason, ""
        )

    @classmethod
    def read(cls, told: dict[str, Any], base: str) -> Session:
        moments = {name: moment(told.pop(name)) for name in ("opened", "used", "ended")}
        path = told.pop("path")
        return cls(**{**told, "servers": tuple(told["servers"])}, **moments, address=f"{base}{path}" if path else "")


@dataclass(frozen=True)
class Gateway:
    """`sessions` is None where its control plane does not answer; `stopped_by` wished it stopped `stopped_at`."""

    base: str
    answers: bool
    supervised: bool
    sessions: tuple[Session, ...] | None = None
    idle: float = 0.0  # seconds after which a session that nobody uses is forgotten
    stopped_by: str = ""
    stopped_at: datetime | None = None

    @property
    def url(self) -> str:
        return f"{self.base}/mcp"

    @property
    def state(self) -> str:
        """`answers`, `starting`, `stopping`, `stopped`; without a supervisor `answers` or `away`."""
        if not self.supervised:
            return "answers" if self.answers else "away"
        if self.stopped_at:
            return "stopping" if self.answers else "stopped"
        return "answers" if self.answers else "starting"

    @property
    def command(self) -> str:
        """What starts it by hand, so that the site sees its sessions."""
        options = {
            "control": socket_path(settings.PROVE_DATA, "gateway"),
            "secret-file": secret_file(settings.PROVE_DATA),
            "registry": registry_file(settings.PROVE_DATA),
        }
        return "python -m mcp_servers --http " + " ".join(f"--{name} {path}" for name, path in options.items())

    def of(self, project: Project) -> list[Session]:
        return [one for one in self.sessions or () if one.owner == owner_of(project)]

    def nobodys(self) -> list[Session]:
        """Those without an owner: whoever named them, and signed addresses of the operator."""
        return [one for one in self.sessions or () if not one.owner]


def look() -> Gateway:
    """Ask it, over its control plane; where that does not answer, for its first page on this machine."""
    wished = wish()
    known = {
        "supervised": os.environ.get(SUPERVISED) == "1",
        "stopped_by": str(wished.get("by", "")),
        "stopped_at": moment(wished.get("at")),
    }
    try:
        told = ask({"do": "list"})
    except Away:
        port = envint("PROVE_MCP_PORT", PORT)
        return Gateway(address(LOCAL, port), welcomes(port), **known)
    base = address(told["host"], told["port"])
    sessions = tuple(Session.read(one, base) for one in told["sessions"])
    return Gateway(base, True, sessions=sessions, idle=told["idle"], **known)


def welcomes(port: int) -> bool:
    connection = http.client.HTTPConnection(LOCAL, port, timeout=PATIENCE)
    try:
        connection.request("GET", "/")
        return "prove" in json.loads(connection.getresponse().read(100_000))
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()


def ask(question: dict[str, Any]) -> dict[str, Any]:
    """What its control plane answers. Raises Away."""
    path = socket_path(settings.PROVE_DATA, "gateway")
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(PATIENCE)
            line.connect(str(path))
            line.sendall(json.dumps(question).encode() + b"\n")
            with line.makefile("rb") as answers:
                told: dict[str, Any] = json.loads(answers.readline(LARGEST))
    except (OSError, ValueError):
        raise Away("The gateway does not respond. Check its status below and start it if it is stopped.") from None
    if "error" in told:
        raise Away(str(told["error"]))
    return told


def moment(seconds: Any) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if isinstance(seconds, int | float) else None


def owner_of(project: Project) -> str:
    """How a signed address names whose it is."""
    return f"project {project.pk}"


def wish() -> dict[str, Any]:
    """Who wished it stopped and when; empty where nobody did."""
    try:
        return dict(json.loads(stopped_file(settings.PROVE_DATA).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def stop(user: User) -> None:
    """Have the supervisor end it, and not start it again."""
    path = stopped_file(settings.PROVE_DATA)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"by": user.username, "at": timezone.now().timestamp()}), "utf-8")
    new.replace(path)


def start() -> None:
    """Have the supervisor start it."""
    stopped_file(settings.PROVE_DATA).unlink(missing_ok=True)


def keeps(user: User) -> bool:
    """Whether this person may handle what all teams of the site share: Maintainer or higher in each of them."""
    enough = [role for role in Role if role.covers(Action.LAUNCH)]
    theirs = Membership.objects.filter(user=user, role__in=enough).values("organisation")
    return not Organisation.objects.exclude(pk__in=theirs).exists()
