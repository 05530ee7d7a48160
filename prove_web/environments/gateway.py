"""MCP gateway as seen by the site: a separate process, whose admin socket reports its state and its sessions.

Whether it should run is a file in the data folder that the supervisor reads; without a supervisor the gateway is
started and stopped by hand.
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
from prove_web.core.broker import socket_path
from prove_web.core.env import envint
from prove_web.supervisor.programs import SUPERVISED, address, registry_file, secret_file, stopped_file

PATIENCE = 1.0  # seconds
PORT = 8765
LARGEST = 50_000_000  # bytes of a response
LOCAL = "127.0.0.1"


class GatewayError(Exception):
    """Failure of the gateway to answer or to act; the message says why and what to do."""


@dataclass(frozen=True)
class Session:
    """An open or ended session of the gateway."""

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
    reason: str = ""  # for which it ended

    @property
    def why(self) -> str:
        """The reason why it ended, unless a user stopped it."""
        return {"idle": "idle timeout", "crowded": "session limit reached", "restart": "gateway restarted"}.get(
            self.reason, ""
        )

    @classmethod
    def read(cls, fields: dict[str, Any], base: str) -> Session:
        moments = {name: moment(fields.pop(name)) for name in ("opened", "used", "ended")}
        path = fields.pop("path")
        return cls(
            **{**fields, "servers": tuple(fields["servers"])}, **moments, address=f"{base}{path}" if path else ""
        )


@dataclass(frozen=True)
class Gateway:
    """State of the gateway; `sessions` is None if its admin socket does not answer.

    `stopped_by` is the user who requested its stop, at `stopped_at`.
    """

    base: str
    answers: bool
    supervised: bool
    sessions: tuple[Session, ...] | None = None
    idle: float = 0.0  # seconds after which an unused session is removed
    stopped_by: str = ""
    stopped_at: datetime | None = None

    @property
    def url(self) -> str:
        return f"{self.base}/mcp"

    @property
    def state(self) -> str:
        """`answers`, `starting`, `stopping` or `stopped`; without a supervisor `answers` or `away`."""
        if not self.supervised:
            return "answers" if self.answers else "away"
        if self.stopped_at:
            return "stopping" if self.answers else "stopped"
        return "answers" if self.answers else "starting"

    @property
    def command(self) -> str:
        """The command that starts it by hand in such a way that the site sees its sessions."""
        options = {
            "control": socket_path(settings.PROVE_DATA, "gateway"),
            "secret-file": secret_file(settings.PROVE_DATA),
            "registry": registry_file(settings.PROVE_DATA),
        }
        return "python -m mcp_servers --http " + " ".join(f"--{name} {path}" for name, path in options.items())

    def list_project_sessions(self, project: Project) -> list[Session]:
        return [one for one in self.sessions or () if one.owner == owner_of(project)]

    def list_unowned_sessions(self) -> list[Session]:
        """Return the sessions without an owner: those that clients named, and signed URLs of the operator."""
        return [one for one in self.sessions or () if not one.owner]


def query_gateway() -> Gateway:
    """Query the admin socket; if that does not answer, the first page of the gateway on this machine."""
    wished = wish()
    known = {
        "supervised": os.environ.get(SUPERVISED) == "1",
        "stopped_by": str(wished.get("by", "")),
        "stopped_at": moment(wished.get("at")),
    }
    try:
        state = send_admin_command({"do": "list"})
    except GatewayError:
        port = envint("PROVE_MCP_PORT", PORT)
        return Gateway(address(LOCAL, port), welcomes(port), **known)
    base = address(state["host"], state["port"])
    sessions = tuple(Session.read(one, base) for one in state["sessions"])
    return Gateway(base, True, sessions=sessions, idle=state["idle"], **known)


def welcomes(port: int) -> bool:
    connection = http.client.HTTPConnection(LOCAL, port, timeout=PATIENCE)
    try:
        connection.request("GET", "/")
        return "prove" in json.loads(connection.getresponse().read(100_000))
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()


def send_admin_command(question: dict[str, Any]) -> dict[str, Any]:
    """Return the response of the admin socket. Raises Away."""
    path = socket_path(settings.PROVE_DATA, "gateway")
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(PATIENCE)
            line.connect(str(path))
            line.sendall(json.dumps(question).encode() + b"\n")
            with line.makefile("rb") as answers:
                response: dict[str, Any] = json.loads(answers.readline(LARGEST))
    except (OSError, ValueError):
        raise GatewayError(
            "The gateway does not respond. Check its status below and start it if it is stopped."
        ) from None
    if "error" in response:
        raise GatewayError(str(response["error"]))
    return response


def moment(seconds: Any) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if isinstance(seconds, int | float) else None


def owner_of(project: Project) -> str:
    """Return the owner's name in signed URLs."""
    return f"project {project.pk}"


def wish() -> dict[str, Any]:
    """Return who requested the stop and when; empty without a request."""
    try:
        return dict(json.loads(stopped_file(settings.PROVE_DATA).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def stop(user: User) -> None:
    """Make the supervisor stop the gateway and keep it stopped."""
    path = stopped_file(settings.PROVE_DATA)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"by": user.username, "at": timezone.now().timestamp()}), "utf-8")
    new.replace(path)


def start() -> None:
    """Make the supervisor start the gateway."""
    stopped_file(settings.PROVE_DATA).unlink(missing_ok=True)


def can_manage_gateway(user: User) -> bool:
    """Return whether the user may manage what all teams share: Maintainer or higher in every team."""
    enough = [role for role in Role if role.covers(Action.LAUNCH)]
    theirs = Membership.objects.filter(user=user, role__in=enough).values("organisation")
    return not Organisation.objects.exclude(pk__in=theirs).exists()
