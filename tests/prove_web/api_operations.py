"""The operations of the API as tests call them: each with its rule, its address and an example of its body."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.test import Client

from prove_web.accounts.models import Organisation, User
from prove_web.accounts.roles import Action
from prove_web.api.api import document
from prove_web.api.openapi_docs import content, example
from prove_web.api.tokens import issue

ALL = [action.value for action in Action]
JSON = "application/json"


@dataclass(frozen=True)
class Operation:
    name: str
    method: str
    path: str
    spec: dict[str, Any]

    def __str__(self) -> str:
        return self.name

    @property
    def rule(self) -> str:
        return self.spec["x-rule"]

    @property
    def action(self) -> Action:
        return Action(self.rule.split(": ")[1])

    def address(self, names: Mapping[str, Any]) -> str:
        return self.path.format(**names)

    @property
    def schema(self) -> Mapping[str, Any]:
        return content(self.spec.get("requestBody", {}))

    @property
    def body(self) -> Any:
        return example(self.schema, SCHEMAS) if self.schema else None

    @property
    def parameters(self) -> list[dict[str, Any]]:
        return [each for each in self.spec.get("parameters", ()) if each["in"] == "query"]


SCHEMAS = document()["components"]["schemas"]
OPERATIONS = [
    Operation(spec["operationId"], method, path, spec)
    for path, methods in document()["paths"].items()
    for method, spec in methods.items()
]
GUARDED = [each for each in OPERATIONS if ": " in each.rule]


def named(furnished: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that fill the addresses."""
    return {**furnished, "table": "accounts"}


def with_token(user: User, organisation: Organisation, scopes: list[str] = ALL) -> Client:
    """Return a client with an API token of this user."""
    return Client(headers={"Authorization": f"Bearer {issue(user, organisation, 'Mine', scopes)[1]}"})


def ask(client: Client, operation: Operation, names: Mapping[str, Any]) -> int:
    """Send the request, roll its changes back, and return the status of the response."""
    with transaction.atomic():
        body = None if operation.body is None else json.dumps(operation.body)
        rest = {"data": body, "content_type": JSON} if body is not None else {}
        answer = getattr(client, operation.method)(operation.address(names), **rest)
        answer.close()
        transaction.set_rollback(True)
    return answer.status_code


@dataclass(frozen=True)
class Program:
    """A client program in one project: it returns a response as JSON if the status is the expected one."""

    client: Client
    site: str = "/api/v1/acme/demo"

    def ask(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        rest = {} if body is None else {"data": json.dumps(body), "content_type": JSON}
        answer = getattr(self.client, method)(self.site + path, **rest)
        assert answer.status_code == status, answer.content[:2_000]
        return answer.json()

    def get(self, path: str, status: int = 200) -> Any:
        return self.ask("get", path, status=status)

    def post(self, path: str, body: Any = None, status: int = 200) -> Any:
        return self.ask("post", path, body, status)

    def put(self, path: str, body: Any = None, status: int = 200) -> Any:
        return self.ask("put", path, body, status)

    def delete(self, path: str, status: int = 200) -> Any:
        return self.ask("delete", path, status=status)


def program(user: User, organisation: Organisation, scopes: list[str] = ALL) -> Program:
    return Program(with_token(user, organisation, scopes))
