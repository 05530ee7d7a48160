"""The API of version 1: all its rooms together. Everything below /api/v1/ is made here.

A room's operations are a `Router` in a file of `routes/`, each under a rule of rules.py. To add a room, import its
router and put it into ROUTERS; the tests then ask it as everyone, and the document and its page have it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from django.http import HttpRequest, JsonResponse
from ninja import NinjaAPI
from ninja.operation import Operation

from .auth import either
from .parsing import Careful
from .refusals import explain
from .routes import (
    adjudication,
    agreement,
    alert_rules,
    alerts,
    branches,
    bulk,
    by_hand,
    comments,
    connecting,
    curves,
    datasets,
    environment,
    evaluations,
    exports,
    fixing,
    forecasts,
    imports,
    jobs,
    marks,
    organisations,
    outcomes,
    outside,
    policies,
    projects,
    queues,
    reviews,
    rewards,
    rollout_worlds,
    runs,
    saved_calls,
    servers,
    sessions,
    sharing,
    standings,
    sweep_plans,
    sweeps,
    told_rollouts,
    trajectories,
    views,
    webhooks,
)
from .rules import signed_in
from .schemas import Refusal

VERSION = "1"
NAMESPACE = "api-v1"
ROUTERS = (
    projects.router,
    organisations.router,
    servers.router,
    environment.router,
    sessions.router,
    branches.router,
    connecting.router,
    saved_calls.router,
    by_hand.router,
    datasets.router,
    imports.router,
    trajectories.router,
    comments.router,
    fixing.router,
    views.router,
    queues.router,
    reviews.router,
    adjudication.router,
    agreement.router,
    rewards.router,
    policies.router,
    runs.router,
    bulk.router,
    forecasts.router,
    sweeps.router,
    sweep_plans.router,
    outside.router,
    told_rollouts.router,
    marks.router,
    curves.router,
    outcomes.router,
    exports.router,
    rollout_worlds.router,
    evaluations.router,
    standings.router,
    alert_rules.router,
    webhooks.router,
    alerts.router,
    jobs.router,
    sharing.router,
)


class Api(NinjaAPI):
    """Ninja's, whose operations are called as their functions are."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__


def build() -> Api:
    made = Api(
        title="PROVE Studio",
        version=VERSION,
        description="Everything that a browser can do here, for programs.",
        urls_namespace=NAMESPACE,
        openapi_url=None,
        docs_url=None,
        auth=either(),
        parser=Careful(),
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
    """All that can be asked of the API; each `view_func` has the `rule` it is under."""
    for router in api._get_bound_routers():
        for path in router.path_operations.values():
            yield from path.operations


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document of all operations, each with its rule and the refusal that all have."""
    told: dict[str, Any] = dict(api.get_openapi_schema(path_prefix="/api/v1"))
    told["components"]["schemas"]["Refusal"] = Refusal.model_json_schema(ref_template="#/components/schemas/{model}")
    told["components"]["schemas"] |= told["components"]["schemas"]["Refusal"].pop("$defs", {})
    said = {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}}
    rules = {each.view_func.__name__: each.view_func.rule for each in operations()}
    for methods in told["paths"].values():
        for operation in methods.values():
            operation["x-rule"] = rules[operation["operationId"]]
            operation["responses"]["default"] = {"description": "What is the case, where, what to do", "content": said}
    return told
