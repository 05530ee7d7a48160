"""Invalid requests: the API names what is wrong with each, and never breaks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import LazySettings
from django.db import transaction
from django.test import Client

from prove_web.accounts.models import Organisation, Project, User
from prove_web.api.openapi_docs import resolve_schema

from .api_operations import JSON, OPERATIONS, SCHEMAS, Operation, named, with_token
from .furnished import furnish

ODD = (
    *(None, True, -1, 0, 2**31, 2**63, 2**64, 10**400, -(10**30), 0.5, 1e308, -0.0),
    *(
        "",
        " ",
        "\0",
        "a\0b",
        "x" * 5_000,
        "é",
        "\U0001d4b3",
        "\u202e",
        "%00",
        "../../etc/passwd",
        "'; --",
        "{{7*7}}",
        "NaN",
        "1e999",
    ),
    *([], [[]], {}, {"": {}}, [None], {"a": {"b": [1, {"c": "\0"}]}}),
)
TEXTS = tuple(str(each) for each in ODD if not isinstance(each, list | dict))
BODIES = (
    b"",
    b"{",
    b"null",
    b"[]",
    b"1",
    b'"text"',
    b"\xff\xfe",
    b'{"a": NaN}',
    b'{"a": 1e400}',
    b"[" * 100_000,
    b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    b'{"name": "\\ud800"}',
)
KINDS = ("text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "application/xml", "")
EACH = 4  # requests of an operation


@pytest.fixture
def names(mary: User, charlie: User, project: Project, settings: LazySettings, tmp_path: Path) -> dict[str, Any]:
    settings.PROVE_DATA, settings.API_RATE = tmp_path, 10**6
    return named(furnish(project, mary))


@pytest.fixture
def client(alice: User, organisation: Organisation, names: dict[str, Any]) -> Client:
    return with_token(alice, organisation)


def bodies(operation: Operation, chance: Random) -> Iterator[tuple[Any, str]]:
    """Yield bodies and their content types; most follow the document except for one or two properties."""
    while True:
        if chance.random() < 0.25:
            yield chance.choice(BODIES), JSON if chance.random() < 0.7 else chance.choice(KINDS)
            continue
        known = resolve_schema(operation.schema, SCHEMAS).get("properties", {})
        body = dict(operation.body or {})
        for name in chance.sample([*known, "unknown"], k=min(len(known) + 1, chance.randint(1, 3))):
            body[name] = chance.choice(ODD)
        yield json.dumps(body), JSON


def query(operation: Operation, chance: Random) -> str:
    wrong = [each["name"] for each in operation.parameters if chance.random() < 0.4]
    return urlencode(
        [(name, chance.choice(TEXTS)) for name in (*wrong, *(["unknown"] if chance.random() < 0.1 else []))]
    )


def refused_in_words(answer: Any) -> bool:
    return {"error", "where", "do"} <= {*answer.json()} and bool(answer.json()["error"])


@pytest.mark.parametrize("half", [0, 1])
def test_whatever_is_sent_is_answered_and_said_to_be_wrong(half: int, client: Client, names: dict[str, Any]) -> None:
    broken = []
    for operation in OPERATIONS[half::2]:
        chance = Random(operation.name)
        sent = bodies(operation, chance)
        for _ in range(EACH):
            address = f"{operation.address(names)}?{query(operation, chance)}"
            body, kind = next(sent) if operation.method != "get" else (b"", JSON)
            with transaction.atomic():
                answer = getattr(client, operation.method)(
                    address, **({"data": body, "content_type": kind} if body else {})
                )
                transaction.set_rollback(True)
            if answer.status_code >= 500 or (answer.status_code >= 400 and not refused_in_words(answer)):
                broken.append((operation.name, address, body, kind, answer.status_code, answer.content[:300]))
            answer.close()
    assert broken == []


@pytest.mark.parametrize("number", [0, 2**31, 2**63, 2**64, 10**30])
def test_numbers_that_nothing_has_are_not_there(number: int, client: Client, names: dict[str, Any]) -> None:
    for operation in OPERATIONS:
        for part in ("run", "dataset", "session", "queue", "position", "evaluation", "step", "index"):
            if f"{{{part}}}" in operation.path and operation.method == "get":
                answer = client.get(operation.address({**names, part: number}))
                assert answer.status_code in (404, 422), (operation.name, part, answer.status_code)
                assert refused_in_words(answer)


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_of_another_kind_is_named_as_such(kind: str, client: Client, names: dict[str, Any]) -> None:
    answer = client.post("/api/v1/acme/demo/sessions", b'{"servers": ["banking"]}', content_type=kind)
    assert answer.status_code == 415 and "application/json" in answer.json()["do"]


def test_a_body_larger_than_the_site_reads_is_named_as_such(client: Client, names: dict[str, Any]) -> None:
    body = json.dumps({"servers": ["banking"], "title": "x" * 2_000_000})
    answer = client.post("/api/v1/acme/demo/sessions", body, content_type=JSON)
    assert answer.status_code == 413 and refused_in_words(answer)


def test_every_fault_of_a_body_is_reported_with_its_place(client: Client, names: dict[str, Any]) -> None:
    body = json.dumps({"name": "", "dataset": 1, "learning_rate": 7, "seed": 99})
    answer = client.post("/api/v1/acme/demo/runs", body, content_type=JSON)
    assert answer.status_code == 422
    assert {"body.name", "body.learning_rate", "body.seed"} <= {each["where"] for each in answer.json()["faults"]}


def test_a_number_that_is_read_as_infinite_is_stored_nowhere(client: Client, names: dict[str, Any]) -> None:
    body = b'{"tool": "list_accounts", "arguments": {"deep": [1e400]}}'
    answer = client.post(f"/api/v1/acme/demo/sessions/{names['session']}/calls", body, content_type=JSON)
    assert answer.status_code == 422 and answer.json()["where"] == "body.arguments.deep.0"


def test_a_misspelt_property_is_not_overlooked(client: Client, names: dict[str, Any]) -> None:
    body = json.dumps({"name": "One", "dataset": 1, "lerning_rate": 1e-4})
    answer = client.post("/api/v1/acme/demo/runs", body, content_type=JSON)
    assert answer.status_code == 422 and "lerning_rate" in answer.json()["where"]


@pytest.mark.parametrize(
    "path, body, where",
    [
        ("what-if?most=1", None, "query.most"),
        ("review/1/close", {"closed": "perhaps"}, "body.closed"),
        ("review/1/close", {"closd": True}, "body.closd"),
        ("sweeps", {"vary": 1, "settings": {}}, "body.vary"),
    ],
)
def test_a_fault_is_reported_at_the_name_that_was_sent(
    path: str, body: Any, where: str, client: Client, names: dict[str, Any]
) -> None:
    ask = client.get if body is None else lambda to: client.post(to, json.dumps(body), content_type=JSON)
    answer = ask(f"/api/v1/acme/demo/{path}")
    assert answer.status_code == 422 and where in {each["where"] for each in answer.json()["faults"]}


@pytest.mark.parametrize("number", [10**400, -(10**400)], ids=["high", "low"])
@pytest.mark.parametrize("path", ["runs", "runs/trial", "runs/forecast", "sweeps"])
def test_an_integer_that_no_database_stores_is_named(
    path: str, number: int, client: Client, names: dict[str, Any]
) -> None:
    settings = {"dataset": 1, "reward_coverage": number}
    body = {"vary": {"seed": [1]}, "settings": settings} if path == "sweeps" else {"name": "One", **settings}
    answer = client.post(f"/api/v1/acme/demo/{path}", json.dumps(body), content_type=JSON)
    assert answer.status_code == 422 and answer.json()["where"].endswith("reward_coverage")
