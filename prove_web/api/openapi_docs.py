"""Operations of an OpenAPI document for readers: parameters, body, response, and an example request."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prove_web.accounts.roles import LEAST, Action

Schema = Mapping[str, Any]
DEEPEST = 4  # levels of a schema that are shown
EXAMPLES = {"integer": 1, "number": 0.5, "boolean": True, "object": {}, "null": None}
BYTES = "application/octet-stream"
NAMES = {"organisation": "acme", "project": "demo"}  # in an example's URL


@dataclass(frozen=True)
class Field:
    """A parameter, or a property of a body or a response; `depth` is its nesting level."""

    name: str
    kind: str
    required: bool
    description: str
    depth: int = 0


@dataclass(frozen=True)
class Operation:
    name: str
    method: str
    path: str
    description: str
    rule: str
    parameters: tuple[Field, ...]
    body: tuple[Field, ...]
    answer: tuple[Field, ...]
    example: str

    @property
    def tint(self) -> str:
        return {"GET": "blue", "POST": "green", "PUT": "yellow", "DELETE": "red"}.get(self.method, "secondary")


@dataclass(frozen=True)
class Section:
    name: str
    operations: tuple[Operation, ...]

    @property
    def slug(self) -> str:
        return self.name.lower().replace(" ", "-")


def group_operations(document: Mapping[str, Any], site: str) -> list[Section]:
    """Return all operations by group, in the order of the document."""
    found: dict[str, list[Operation]] = {}
    schemas = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for method, fields in methods.items():
            name = fields.get("tags", ["Other"])[0]
            found.setdefault(name, []).append(operation(path, method.upper(), fields, schemas, site))
    return [Section(name, tuple(operations)) for name, operations in found.items()]


def operation(path: str, method: str, spec: Mapping[str, Any], schemas: Schema, site: str) -> Operation:
    body = content(spec.get("requestBody", {}))
    answers = [each for status, each in spec["responses"].items() if str(status).startswith("2")]
    return Operation(
        name=spec["operationId"],
        method=method,
        path=path,
        description=spec.get("description", ""),
        rule=describe_rule(spec["x-rule"]),
        parameters=tuple(
            Field(each["name"], kind(each["schema"], schemas), each.get("required", False), get_description(each))
            for each in spec.get("parameters", ())
        ),
        body=tuple(fields(body, schemas)),
        answer=tuple(fields(content(answers[0]), schemas)) if answers else (),
        example=curl(site, path, method, example(body, schemas) if body else None, takes_bytes(spec)),
    )


def describe_rule(rule: str) -> str:
    """Return the required role and scope in words."""
    _, _, action = rule.partition(": ")
    return f"the {LEAST[Action(action)].label} role and the {action} scope" if action else "any token or session"


def content(fields: Mapping[str, Any]) -> Schema:
    return fields.get("content", {}).get("application/json", {}).get("schema", {})


def get_description(parameter: Mapping[str, Any]) -> str:
    text: str = parameter.get("description") or parameter["schema"].get("description") or ""
    return text


def resolve_schema(schema: Schema, schemas: Schema) -> Schema:
    """Resolve a reference; for a nullable schema return the other part."""
    if name := schema.get("$ref"):
        return resolve_schema(schemas[name.rsplit("/", 1)[1]], schemas)
    for several in ("anyOf", "allOf"):
        parts = [part for part in schema.get(several, ()) if part.get("type") != "null"]
        if len(parts) == 1:
            return resolve_schema(parts[0], schemas)
    return schema


def kind(schema: Schema, schemas: Schema) -> str:
    """Return a schema in a word or two."""
    null = any(part.get("type") == "null" for part in schema.get("anyOf", ()))
    full = resolve_schema(schema, schemas)
    if "enum" in full:
        text = " | ".join(json.dumps(value) for value in full["enum"])
    elif "const" in full:
        text = json.dumps(full["const"])
    elif full.get("type") == "array":
        text = f"list of {kind(full.get('items', {}), schemas)}"
    elif parts := full.get("anyOf"):
        text = " | ".join(kind(part, schemas) for part in parts if part.get("type") != "null")
    else:
        text = full.get("format") or full.get("type", "any")
    return f"{text} | null" if null else text


def fields(schema: Schema, schemas: Schema, depth: int = 0) -> Iterator[Field]:
    """Yield the properties of a schema, each followed by its nested ones."""
    full = resolve_schema(schema, schemas)
    if full.get("type") == "array":
        yield from fields(full.get("items", {}), schemas, depth)
        return
    for name, each in full.get("properties", {}).items():
        yield Field(name, kind(each, schemas), name in full.get("required", ()), each.get("description", ""), depth)
        if depth < DEEPEST:
            yield from fields(each, schemas, depth + 1)


def example(schema: Schema, schemas: Schema, depth: int = 0) -> Any:
    """Return an example value of a schema, with only required properties."""
    full = resolve_schema(schema, schemas)
    for known in ("default", "const"):
        if known in full:
            return full[known]
    if "enum" in full:
        return full["enum"][0]
    if full.get("type") == "array":
        return [example(full.get("items", {}), schemas, depth + 1)] if depth < DEEPEST else []
    if "properties" in full:
        wanted = [*full.get("required", ())] or [*full["properties"]][:1]
        return {name: example(full["properties"][name], schemas, depth + 1) for name in wanted}
    if parts := full.get("anyOf"):
        return example(parts[0], schemas, depth + 1)
    return EXAMPLES.get(full.get("type", ""), "text")


def takes_bytes(fields: Mapping[str, Any]) -> bool:
    return BYTES in fields.get("requestBody", {}).get("content", {})


def curl(site: str, path: str, method: str, body: Any, bytes: bool = False) -> str:
    """Return the request as a shell command."""
    for name, value in NAMES.items():
        path = path.replace(f"{{{name}}}", value)
    lines = [f"curl -H \"Authorization: Bearer $PROVE_TOKEN\" '{site}{path}'"]
    lines[0] = lines[0].replace("curl ", f"curl -X {method} ") if method != "GET" else lines[0]
    if bytes:
        lines += [f"  -H 'Content-Type: {BYTES}'", "  --data-binary @piece"]
    if body is not None:
        text = json.dumps(body).replace("'", "'\\''")
        lines += ["  -H 'Content-Type: application/json'", f"  -d '{text}'"]
    return " \\\n".join(lines)
