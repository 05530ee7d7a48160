"""API of version 1, built from all its routers. Everything below /api/v1/ is defined here.

A group of operations is a `Router` in a module of `routes/`, each operation under a rule of permissions.py. To add a
group, import its router and put it into ROUTERS; the tests then call it with every role, and the document and its page
include it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from django.http import HttpRequest, JsonResponse
from ninja import NinjaAPI
from ninja.operation import Operation

from .auth import build_authenticators
from .errors import explain
from .parsing import StrictJsonParser
from .permissions import signed_in
from .routes import (
    adjudication,
    agreement,
    alert_rules,
    alerts,
    comments,
    datasets,
    environment,
    evaluations,
    exports,
    external_rollouts,
    external_runs,
    imports,
    jobs,
    leaderboards,
    organisations,
    policies,
    projects,
    queues,
    reviews,
    rewards,
    rollout_sessions,
    run_estimates,
    run_metadata,
    run_metrics,
    runs,
    runs_bulk,
    saved_calls,
    saved_views,
    servers,
    session_forks,
    session_tokens,
    session_trajectories,
    sessions,
    sharing,
    sweep_preview,
    sweeps,
    tool_outcomes,
    trajectories,
    trajectory_edits,
    webhooks,
)
from .schemas import Refusal

VERSION = "1"
NAMESPACE = "api-v1"
ROUTERS = (
    projects.router,
    organisations.router,
    servers.router,
    environment.router,
    sessions.router,
    session_forks.router,
    session_tokens.router,
    saved_calls.router,
    session_trajectories.router,
    datasets.router,
    imports.router,
    trajectories.router,
    comments.router,
    trajectory_edits.router,
    saved_views.router,
    queues.router,
    reviews.router,
    adjudication.router,
    agreement.router,
    rewards.router,
    policies.router,
    runs.router,
    runs_bulk.router,
    run_estimates.router,
    sweeps.router,
    sweep_preview.router,
    external_runs.router,
    external_rollouts.router,
    run_metadata.router,
    run_metrics.router,
    tool_outcomes.router,
    exports.router,
    rollout_sessions.router,
    evaluations.router,
    leaderboards.router,
    alert_rules.router,
    webhooks.router,
    alerts.router,
    jobs.router,
    sharing.router,
)


class Api(NinjaAPI):
    """Ninja API whose operation ids are the names of their functions."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__


def build() -> Api:
    made = Api(
        title="PROVE Studio",
        version=VERSION,
        description="HTTP API of PROVE Studio. It covers everything that the pages can do.",
        urls_namespace=NAMESPACE,
        openapi_url=None,
        docs_url=None,
        auth=build_authenticators(),
        parser=StrictJsonParser(),
    )
    explain(made)
    for router in ROUTERS:
        made.add_router("", router)

    @made.get("/openapi.json", include_in_schema=False)
    @signed_in
    def read_document(request: HttpRequest) -> JsonResponse:
        return JsonResponse(document())

    return made


api = build()


def operations() -> Iterator[Operation]:
    """Yield all operations of the API; each `view_func` has the `rule` it is under."""
    for router in api._get_bound_routers():
        for path in router.path_operations.values():
            yield from path.operations


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document of all operations, each with its rule and the common error response."""
    schema: dict[str, Any] = dict(api.get_openapi_schema(path_prefix="/api/v1"))
    schema["components"]["schemas"]["Refusal"] = Refusal.model_json_schema(ref_template="#/components/schemas/{model}")
    schema["components"]["schemas"] |= schema["components"]["schemas"]["Refusal"].pop("$defs", {})
    said = {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}}
    rules = {each.view_func.__name__: each.view_func.rule for each in operations()}
    for methods in schema["paths"].values():
        for operation in methods.values():
            operation["summary"] = re.split(r"[.;:]", operation["description"])[0]
            operation["x-rule"] = rules[operation["operationId"]]
            operation["responses"]["default"] = {"description": "Error: what happened and what to do", "content": said}
    return schema
