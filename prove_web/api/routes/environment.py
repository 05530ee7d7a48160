"""API operations for a project's environment: enabled servers, default world, invariant checks, and the graph."""

from __future__ import annotations

from typing import Any

from ninja import Router, Schema
from pydantic import Field

from mcp_servers.catalogue import SERVERS
from prove_web.accounts.roles import Action
from prove_web.environments.enabled_servers import list_enabled_servers
from prove_web.environments.forms import EnvironmentForm
from prove_web.environments.server_checks import health
from prove_web.environments.views import request_checks
from prove_web.live.models import Job
from prove_web.servers.graph_queries import Edge, newest
from prove_web.servers.views.graph import launch

from ..errors import ApiError, ill_filled
from ..form_schemas import body_of, build_query_dict
from ..permissions import in_project
from ..schemas import JobOut, StrictSchema

router = Router(tags=["Servers and tools"])
IN_PROJECT = "/{slug:organisation}/{slug:project}"
ENVIRONMENT = f"{IN_PROJECT}/environment"
GRAPH = f"{IN_PROJECT}/graph"


class EnvironmentOut(Schema):
    """The enabled servers, and the default world of forms."""

    servers: list[str]
    seed: int
    size: str


class CheckServers(StrictSchema):
    servers: list[str] | None = Field(None, min_length=1, max_length=100, description="Server names; default: all.")


class CheckOut(Schema):
    """The invariant checks of a server: never run, violated, passed, or stale because its code changed."""

    server: str
    state: str
    at_work: bool
    error: str
    laws: dict[str, int] = Field(description="Number of violations per invariant.")


class EdgeOut(Schema):
    """A dependency: output of `producer` enables `consumer`, by an id of `id_type`, a plain value, or, if implicit, by
    having run. `parameters` are the ones it fills."""

    producer: str
    consumer: str
    id_type: str
    created: bool
    implicit: bool
    parameters: list[str]

    @staticmethod
    def resolve_parameters(edge: Edge) -> list[str]:
        return sorted({parameter for parameter, _ in edge.proofs})


class GraphOut(Schema):
    """The newest verified graph, limited to enabled servers; `current` until their code changes. `job` is the newest
    job that rebuilt it."""

    job: JobOut | None
    current: bool | None
    tools: list[str]
    edges: list[EdgeOut]


SetEnvironment = body_of(EnvironmentForm, "SetEnvironment", optional=True)


@router.get(ENVIRONMENT, response=EnvironmentOut)
@in_project(Action.VIEW)
def read_environment(request: Any) -> Any:
    """Return the project's enabled servers and its default world."""
    return EnvironmentForm(request.project).initial


@router.put(ENVIRONMENT, response=EnvironmentOut)
@in_project(Action.LAUNCH)
def set_environment(request: Any, body: SetEnvironment) -> Any:  # type: ignore[valid-type]
    """Enable or disable servers and set the default world; omitted fields stay unchanged."""
    now = EnvironmentForm(request.project).initial
    form = EnvironmentForm(request.project, build_query_dict(now | body.dict(exclude_none=True)))
    if not form.is_valid():
        raise ill_filled(form.errors)
    made = form.save()
    return {"servers": [name for name in SERVERS if name not in made.off], "seed": made.seed, "size": made.size}


@router.get(f"{ENVIRONMENT}/checks", response=list[CheckOut])
@in_project(Action.VIEW)
def list_checks(request: Any) -> Any:
    """Return the state of every server's invariant checks."""
    return serialize_checks(list(SERVERS))


@router.post(f"{ENVIRONMENT}/checks", response=list[CheckOut])
@in_project(Action.LAUNCH)
def check_servers(request: Any, body: CheckServers) -> Any:
    """Run the invariant checks of servers, one after the other; checks that are already running are not restarted."""
    servers = [*SERVERS] if body.servers is None else [*dict.fromkeys(body.servers)]
    if strange := [name for name in servers if name not in SERVERS]:
        raise ApiError(422, f"Unknown server {strange[0]!r}.", "body.servers", "`GET /servers` lists them.")
    if why := request_checks(servers):
        raise ApiError(503, why, "", "Send the request again in a moment.")
    return serialize_checks(servers)


def serialize_checks(servers: list[str]) -> list[dict[str, Any]]:
    names = ("server", "state", "at_work", "error")
    return [{name: getattr(one, name) for name in names} | {"laws": dict(one.laws)} for one in health(servers).values()]


@router.get(GRAPH, response=GraphOut)
@in_project(Action.VIEW)
def read_graph(request: Any) -> Any:
    """Return the dependencies between tools, as verified by running them."""
    job, proven = newest(request.project)
    if proven is None:
        return {"job": job, "current": None, "tools": [], "edges": []}
    proven = proven.filter_by_servers(list_enabled_servers(request.project))
    return {"job": job, "current": proven.current, "tools": [*proven.tools], "edges": proven.edges}


@router.post(f"{GRAPH}/prove", response=JobOut)
@in_project(Action.LAUNCH)
def prove_graph(request: Any) -> Any:
    """Rebuild the graph with the current servers. Only one such job runs at a time; returns the job."""
    return Job.objects.select_related("created_by").get(pk=launch(request.project, request.user).pk)
