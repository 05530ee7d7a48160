"""A server is a seed and some typed functions; schemas and id types are read off the signatures."""

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
WORLDS_KEPT = 512
CERTIFICATE = "certificate.json"


@dataclass(frozen=True)
class Sensitive:
    """Marks a parameter whose value (a PIN, a password, a token) must come from the user or a tool's output."""


@dataclass(frozen=True)
class Seen:
    """Marks a text parameter that is best filled with a value seen in the results of tools under this field's name."""

    field: str


class NotCertified(Exception):
    """A server has no behaviour certificate, so nothing can be said of what data would be made with."""


class InvalidArguments(ToolError):
    """The arguments do not fit the tool's schema; `faults` names every place."""

    def __init__(self, tool: str, found: list[dict[str, str]]):
        text = "; ".join(f"{fault['parameter']} {fault['problem']}" for fault in found)
        super().__init__("invalid_arguments", f"{tool}: {text}.")
        self.faults = found


class Tool:
    """One function over a state, and what its signature says about it.

    `taken` are the type and the default of each parameter, `...` where it has none. `consumes` are the id types it
    cannot do without, `accepts` those it may take besides, `produces` those its result carries and it was not given.
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
        self.seen = {name: mark.field for name, found in marks.items() for mark in found if isinstance(mark, Seen)}

    @cached_property
    def model(self) -> type[BaseModel]:
        """The arguments as pydantic knows them. Built when first asked for, for a process needs a few tools of all."""
        fields: dict[str, Any] = dict(self.taken)
        return create_model(self.name, __config__=ConfigDict(extra="forbid", strict=True), **fields)

    @cached_property
    def validate(self) -> Callable[[str], dict[str, Any]]:
        """The arguments that a JSON text holds. Raises ValidationError with every fault."""
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
        """The result as JSON text. Raises ToolError when it refuses, naming every fault of the arguments."""
        try:
            given = self.validate(arguments)
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False)
            raise InvalidArguments(self.name, faults(found)) from None
        result = self.function(state, **given)
        return self.result.serializer.to_json(result, exclude_none=True).decode()


class Server(Generic[S]):
    """A named set of tools over one kind of state, with the laws every reachable state keeps."""

    def __init__(self, name: str, description: str, seed: Callable[[int, str], S]):
        self.name, self.description, self.seed = name, description, seed
        self.tools: dict[str, Tool] = {}
        self.invariants: dict[str, Callable[[S], bool]] = {}
        self.known: Knowledge[S] = lambda state: {}
        self.opening = lru_cache(maxsize=WORLDS_KEPT)(self._opening)

    def read(self) -> Callable[[Function], Function]:
        """A tool that only looks."""
        return self._tool(writes=False, destructive=False, idempotent=True)

    def write(self, *, destructive: bool = False, idempotent: bool = False) -> Callable[[Function], Function]:
        """A tool that changes the state, or refuses and changes nothing; destructive when it cannot be undone,
        idempotent when the same call once more leaves the tables as they are, by a refusal or otherwise.
        """
        return self._tool(writes=True, destructive=destructive, idempotent=idempotent)

    def _tool(self, **marks: bool) -> Callable[[Function], Function]:
        def keep(function: Function) -> Function:
            tool = Tool(function, **marks)
            if tool.name in self.tools:
                raise ValueError(f"{self.name} already has a tool {tool.name}.")
            self.tools[tool.name] = tool
            return function

        return keep

    def invariant(self, law: Callable[[S], bool]) -> Callable[[S], bool]:
        """Something true of every state a session can reach."""
        self.invariants[law.__name__] = law
        return law

    def known_by_heart(self, known: Knowledge[S]) -> Knowledge[S]:
        """What the user knows though no tool tells it, such as a PIN: by the id it belongs to and the parameter."""
        self.known = known
        return known

    @property
    def folder(self) -> Path:
        """Where its code is."""
        return Path(inspect.getfile(self.seed)).parent

    @cached_property
    def policy(self) -> str:
        """The rules of this service in Markdown, as its users may read them: `policy.md` beside its code."""
        path = self.folder / "policy.md"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def broken(self, state: S) -> list[str]:
        """The names of the laws this state breaks: none, or the server has a bug."""
        return [name for name, law in self.invariants.items() if not law(state)]

    def _opening(self, seed: int, size: str) -> S:
        return self.seed(seed, size).settle()

    def open(self, seed: int, size: str = "default", history_limit: int | None = None) -> Session[S]:
        """A new session in the world of this seed, which is built once per process and shared."""
        return Session.start(self, self.opening(seed, size), history_limit)

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """The behaviour certificate beside its code (`mcp_servers/testing/certificate.py`), as it is stored.

        Raises NotCertified where there is none that can be read.
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
        """Names this server's schemas and behaviour, as certified: data made with another one may not replay.

        Read from the stored certificate; nothing is run. Raises NotCertified.
        """
        return blake2b(json.dumps(self.certificate, sort_keys=True).encode(), digest_size=8).hexdigest()


def ids_in(hint: Any) -> Iterator[str]:
    """The id types a type carries: `AccountId`, `tuple[Account, ...]` and so on, however deep."""
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
    """The marks a parameter's type carries, also inside a union with None."""
    first, *marks = get_args(hint) or (None,)
    if get_origin(hint) is Annotated:
        yield from marks
        yield from marks_in(first)
    else:
        for part in (first, *marks):
            yield from marks_in(part) if get_origin(part) is not None else ()


def without_titles(schema: Any) -> Any:
    """A schema without the titles pydantic adds, which repeat the names."""
    match schema:
        case {"properties": dict(properties), **rest}:
            kept = {name: without_titles(part) for name, part in properties.items()}
            return {
                "type": "object",
                "properties": kept,
                **{k: without_titles(v) for k, v in rest.items() if k != "title"},
            }
        case dict():
            return {key: without_titles(part) for key, part in schema.items() if key != "title"}
        case list():
            return [without_titles(part) for part in schema]
    return schema


def without_nulls(schema: Any) -> Any:
    """A result's schema in which a field that may be null is not required: results leave it out then."""
    match schema:
        case {"properties": dict(properties), "required": list(required), **rest}:
            kept = [name for name in required if {"type": "null"} not in properties[name].get("anyOf", ())]
            parts = {name: without_nulls(part) for name, part in properties.items()}
            return {**{key: without_nulls(part) for key, part in rest.items()}, "properties": parts, "required": kept}
        case dict():
            return {key: without_nulls(part) for key, part in schema.items()}
        case list():
            return [without_nulls(part) for part in schema]
    return schema
