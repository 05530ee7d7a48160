"""Live session that reproduces an edge's evidence: its world, with the first call made."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from mcp_servers.catalogue import SERVERS, fingerprint
from prove_web.accounts.models import Project, User

from .. import session_services
from ..graph_queries import Edge
from ..models import LiveSession, SessionCall

SIZE = "small"  # of the worlds in which edges are verified
Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Scene:
    """A world, the calls in it, the last call's result in the evidence, and the call to try next.

    `earlier` writes precede an implicit edge's first call, which is the one that is refused.
    """

    servers: tuple[str, ...]
    seed: int
    earlier: tuple[Call, ...]
    first: Call
    run: dict[str, Any]
    then: Call

    @property
    def advice(self) -> str:
        name, arguments = self.then
        return f"Now call {name} with {json.dumps(arguments, ensure_ascii=False)}"


def scene(edge: Edge, parameter: str) -> Scene | None:
    """Return the scene of the evidence for a parameter; an implicit edge has one without a parameter.

    None without such evidence, or if a server is gone.
    """
    servers = tuple(sorted({*edge.servers}))
    if any(name not in SERVERS for name in servers):
        return None
    if edge.enables and not parameter:
        evidence = edge.enables
        earlier = tuple((name, arguments) for name, arguments in evidence["earlier"])
        first = (edge.consumer, evidence["refused"]["arguments"])
        then = (edge.producer, evidence["producer"]["arguments"])
        return Scene(servers, evidence["seed"], earlier, first, evidence["refused"], then)
    proof = dict(edge.proofs).get(parameter)
    if proof is None:
        return None
    first = (edge.producer, proof["producer"]["arguments"])
    then = (edge.consumer, proof["with_output"]["arguments"])
    return Scene(servers, proof["seed"], (), first, proof["producer"], then)


@transaction.atomic
def reopen(evidence: Scene, project: Project, user: User, edge: Edge) -> tuple[LiveSession, SessionCall, bool]:
    """Return the session, its last call, and whether that has the same result as in the evidence.

    Raises SessionBusyError.
    """
    session = LiveSession.objects.create(
        project=project,
        title=f"Evidence: {edge.producer} → {edge.consumer}"[: session_services.TITLE],
        servers=list(evidence.servers),
        seed=evidence.seed,
        size=SIZE,
        fingerprint=fingerprint(evidence.servers),
        created_by=user,
    )
    made = [session_services.make(session, user, *call) for call in (*evidence.earlier, evidence.first)][-1]
    return session, made, (made.ok, made.text) == (evidence.run["ok"], evidence.run["text"])
