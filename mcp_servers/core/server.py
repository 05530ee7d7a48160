"""Tool servers: a seed and typed functions, whose signatures define the schemas and id types."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Generic,
    NewType,
    NotRequired,
    Required,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model
from pydantic.fields import FieldInfo
from typing_extensions import TypedDict

from .arguments import faults
from .errors import ToolError
from .session import Session
from .state import State

S = TypeVar("S", bound=State)
Function = TypeVar("Function", bound=Callable[..., Any])
Knowledge = Callable[[S], dict[tuple[str, str], str]]
WORLD_CACHE_SIZE = 512
CERTIFICATE = "certificate.json"


@dataclass(frozen=True)
class Sensitive:
    """Mark of a parameter whose value (a PIN, a password, a token) must come from the user or a tool's output."""


@dataclass(frozen=True)
class ObservedField:
    """Mark of a text parameter that is best filled with a value that results of tools show under this field's name."""

    field: str


class NotCertified(Exception):
    """Error for a server without a behaviour certificate: data made with it could not be identified."""


class InvalidArguments(ToolError):
    """Refusal of arguments that do not fit the tool's schema; `faults` names every place."""

    def __init__(self, tool: str, found: list[dict[str, str]]):
        text = "; ".join(f"{fault['parameter']} {fault['problem']}" for fault in found)
        super().__init__("invalid_arguments", f"{tool}: {text}.")
        self.faults = found


class Tool:
    """A function over a state, and the properties that its signature defines.

    `taken` has the type and the default of each parameter, `...` for no default. `consumes` are the id types that it
    requires, `accepts` those that are optional, `produces` those in its result that it does not require.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        writes: bool,
        destructive: bool,
        idempotent: bool,
    ):
        hints = get_type_hints(function, include_extras=True)
        _, *parameters = inspect.signature(function).parameters.values()
        self.name, self.function = function.__name__, function
        self.writes, self.destructive, self.idempotent = writes, destructive, idempotent
        self.description = " ".join((inspect.getdoc(function) or "").split())
        for p in parameters:
            if not FieldInfo.from_annotation(hints[p.name]).description:
                raise TypeError(f"{self.name}: the parameter {p.name} has no description.")
        self.result_type = hints["return"]
        self.taken = {p.name: (hints[p.name], ... if p.default is p.empty else p.default) for p in parameters}
        self.ids = {p.name: id for p in parameters for id in ids_in(hints[p.name])}
        self.required = tuple(p.name for p in parameters if p.default is p.empty)
        self.consumes = frozenset(self.ids[name] for name in self.required if name in self.ids)
        self.accepts = frozenset(self.ids.values()) - self.consumes
        self.produces = frozenset(ids_in(hints["return"])) - self.consumes
        marks = {p.name: tuple(marks_in(hints[p.name])) for p in parameters}
        self.sensitive = frozenset(name for name, found in marks.items() if Sensitive() in found)
        self.seen = {
            name: mark.field for name, found in marks.items() for mark in found if isinstance(mark, ObservedField)
        }

    @cached_property
    def model(self) -> type[BaseModel]:
        """The pydantic model of the arguments, built on first use because a process needs only a few of the tools."""
        fields: dict[str, Any] = dict(self.taken)
        return create_model(self.name, __config__=ConfigDict(extra="forbid", strict=True), **fields)

    @cached_property
    def validate(self) -> Callable[[str], dict[str, Any]]:
        """A function that reads the arguments from JSON text. It raises ValidationError with every fault."""
        taken = {name: (Required if given is ... else NotRequired)[hint] for name, (hint, given) in self.taken.items()}
        shape = TypedDict(self.name, taken)  # type: ignore[misc]
        shape.__pydantic_config__ = ConfigDict(extra="forbid", strict=True)  # type: ignore[attr-defined]
        return TypeAdapter(shape).validator.validate_json

    @cached_property
    def result(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.result_type)

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        schema = without_titles(self.model.model_json_schema())
        return {"properties": {}, **schema} if isinstance(schema, dict) else {}

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """The JSON Schema of the result."""
        schema = without_nulls(without_titles(self.result.json_schema()))
        return schema if isinstance(schema, dict) else {}

    def run(self, state: State, arguments: str) -> str:
        """Run the tool and return its result as JSON text. Raises ToolError, naming every fault of the arguments."""
        try:
            given = self.validate(arguments)
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False)
            raise InvalidArguments(self.name, faults(found)) from None
        result = self.function(state, **given)
        return self.result.serializer.to_json(result, exclude_none=True).decode()


class Server(Generic[S]):
    """A named set of tools over one type of state, with the invariants of every reachable state."""

    def __init__(self, name: str, description: str, seed: Callable[[int, str], S]):
        self.name, self.description, self.seed = name, description, seed
        self.tools: dict[str, Tool] = {}
        self.invariants: dict[str, Callable[[S], bool]] = {}
        self.known: Knowledge[S] = lambda state: {}
        self.opening = lru_cache(maxsize=WORLD_CACHE_SIZE)(self._opening)

    def read(self) -> Callable[[Function], Function]:
        """Register a tool that only reads."""
        return self._tool(writes=False, destructive=False, idempotent=True)

    def write(self, *, destructive: bool = False, idempotent: bool = False) -> Callable[[Function], Function]:
        """Register a tool that changes the state, or refuses and changes nothing.

        It is destructive if it can't be undone, and idempotent if repeating the same call leaves the tables as they
        are, by a refusal or otherwise.
        """
        return self._tool(writes=True, destructive=destructive, idempotent=idempotent)

    def _tool(self, **marks: bool) -> Callable[[Function], Function]:
        def register_tool(function: Function) -> Function:
            tool = Tool(function, **marks)
            if tool.name in self.tools:
                raise ValueError(f"{self.name} already has a tool {tool.name}.")
            self.tools[tool.name] = tool
            return function

        return register_tool

    def invariant(self, law: Callable[[S], bool]) -> Callable[[S], bool]:
        """Register a property of every state that a session can reach."""
        self.invariants[law.__name__] = law
        return law

    def known_by_heart(self, known: Knowledge[S]) -> Knowledge[S]:
        """Register what the user knows but no tool reveals, such as a PIN, by the id it belongs to and parameter."""
        self.known = known
        return known

    @property
    def folder(self) -> Path:
        """The folder of the server's code."""
        return Path(inspect.getfile(self.seed)).parent

    @cached_property
    def policy(self) -> str:
        """The rules of this service in Markdown, as its users may read them: `policy.md` beside its code."""
        path = self.folder / "policy.md"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def find_broken_invariants(self, state: S) -> list[str]:
        """Return the names of the invariants that this state breaks; if there are any, the server has a bug."""
        return [name for name, law in self.invariants.items() if not law(state)]

    def _opening(self, seed: int, size: str) -> S:
        return self.seed(seed, size).settle()

    def open(self, seed: int, size: str = "default", history_limit: int | None = None) -> Session[S]:
        """Open a session in the world of this seed, which is built once per process and shared."""
        return Session.start(self, self.opening(seed, size), history_limit)

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """The stored behaviour certificate beside its code (`mcp_servers/testing/certificate.py`).

        Raises NotCertified if there is none that can be read.
        """
        path = self.folder / CERTIFICATE
        try:
            found = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise NotCertified(
                f"{self.name} has no behaviour certificate that can be read ({path}: {error}); "
                f"write one with python -m mcp_servers certify --server {self.name}."
            ) from None
        return dict(found)

    @cached_property
    def fingerprint(self) -> str:
        """An identifier of this server's certified schemas and behaviour: data made with another one may not replay.

        It is read from the stored certificate; nothing is run. Raises NotCertified.
        """
        return blake2b(json.dumps(self.certificate, sort_keys=True).encode(), digest_size=8).hexdigest()


def ids_in(hint: Any) -> Iterator[str]:
    """Yield the id types in a type, at any depth: `AccountId`, `tuple[Account, ...]` and so on."""
    if isinstance(hint, NewType):
        yield hint.__name__
    elif dataclasses.is_dataclass(hint):
        for part in get_type_hints(hint, include_extras=True).values():
            yield from ids_in(part)
    elif get_origin(hint) is Annotated:
        yield from ids_in(get_args(hint)[0])
    else:
        for part in get_args(hint):
            yield from ids_in(part)


def marks_in(hint: Any) -> Iterator[Any]:
    """Yield the marks in a parameter's type, including those inside a union with None."""
    first, *marks = get_args(hint) or (None,)
    if get_origin(hint) is Annotated:
        yield from marks
        yield from marks_in(first)
    else:
        for part in (first, *marks):
            yield from marks_in(part) if get_origin(part) is not None else ()


def without_titles(schema: Any) -> Any:
    """Return a schema without the titles that pydantic adds, which repeat the names."""
    match schema:
        case {"properties": dict(properties), **rest}:
            parts = {name: without_titles(part) for name, part in properties.items()}
            return {
                "type": "object",
                "properties": parts,
                **{k: without_titles(v) for k, v in rest.items() if k != "title"},
            }
        case dict():
            return {key: without_titles(part) for key, part in schema.items() if key != "title"}
        case list():
            return [without_titles(part) for part in schema]
    return schema


def without_nulls(schema: Any) -> Any:
    """Return a result's schema in which nullable fields are not required, because results omit nulls."""
    match schema:
        case {"properties": dict(properties), "required": list(required), **rest}:
            remaining = [name for name in required if {"type": "null"} not in properties[name].get("anyOf", ())]
            parts = {name: without_nulls(part) for name, part in properties.items()}
            return {
                **{key: without_nulls(part) for key, part in rest.items()},
                "properties": parts,
                "required": remaining,
            }
        case dict():
            return {key: without_nulls(part) for key, part in schema.items()}
        case list():
            return [without_nulls(part) for part in schema]
    return schema
