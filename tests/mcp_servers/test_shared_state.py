"""What modules share between threads never changes after import: no generator, no list or dict that functions write."""

from __future__ import annotations

import ast
import dataclasses
import enum
import importlib
import inspect
import logging
import pkgutil
import sys
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import mcp_servers
from mcp_servers.core import Server, Tool
from training_worker.core.stage_cache import SYNTHESIS

CONTAINERS = (list, dict, set)
WRITES = {
    *{"append", "extend", "insert", "remove", "pop", "popitem", "clear", "sort", "reverse", "appendleft", "popleft"},
    *{"add", "discard", "update", "setdefault", "move_to_end"},
}
CONSTANTS_OF = {  # the modules whose objects do not change, but for the containers among them
    *{"builtins", "collections.abc", "datetime", "decimal", "fractions", "functools", "ipaddress", "pathlib", "re"},
    *{"types", "typing", "typing_extensions", "json.decoder", "pyarrow.lib", "_collections", "_thread"},
}
SET_UP_AT_IMPORT = (Server, Tool)  # by decorators; later they only fill properties, which come out the same every time
PLAIN = (*SYNTHESIS, "config", "store", "monitoring", "evaluation")  # folders without torch and without a queue
ALLOWED = {
    "mcp_servers.core.state.adapter": "pydantic's adapters are not changed once they are built",
    "mcp_servers.core.state.table_types": "types by name",
    "mcp_servers.core.random_walk.fields_of": "types by name",
    "mcp_servers.testing.phrases.hints": "types by name",
    "training_worker.graph.result_schema.hints": "types by name",
    "training_worker.graph.result_schema.parts_with_ids": "types by name",
    "mcp_servers.shared.fake_text.GENERATOR": "each thread has its own",
    "mcp_servers.maps.engine.network": "frozen by networkx.freeze",
    "training_worker.reward.provenance.in_schema": "a frozenset, of JSON scalars",
    "training_worker.graph.edge_probe.laboratory": "its world is forked before a call; its context is read",
    "training_worker.monitoring.event_data.as_tuple": "a validator of pydantic's, around a function",
    "training_worker.chat.schemas.imported_schema": "JSON to be read, like the schemas of the tools themselves",
    "training_worker.chat.schemas.tool_schema": "JSON to be read, like the schemas of the tools themselves",
    "training_worker.graph.sampler.context_of": "read by `contexts`, which puts new dicts together",
    "training_worker.synthesis.teachers.endpoint": "an Endpoint has a lock of its own",
    "training_worker.core.trajectory.adapter": "pydantic's adapters are not changed once they are built",
    "training_worker.core.sandbox.inside": "set once, in a child process of its own",
    "training_worker.synthesis.worker_pool.draws": "set once, by the initializer of a worker process",
    "training_worker.evaluation.tau2.inside.litellm_stub.sys.modules": "set once, in a child process of its own",
}


def modules(package: ModuleType) -> Iterator[ModuleType]:
    for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not one.name.endswith("__main__"):
            yield importlib.import_module(one.name)


def shared_state(module: ModuleType) -> Iterator[str]:
    """The names in a module of what threads share and what may change."""
    own = module.__name__
    tree = ast.parse(Path(inspect.getfile(module)).read_text("utf-8"))
    classes = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == own]
    for name in bound(tree):
        if not is_constant(vars(module).get(name)):
            yield f"{own}.{name}"
    for one in classes:
        for name, value in vars(one).items():
            if not (name.startswith("_") or name == "model_config" or is_constant(value)):
                yield f"{own}.{one.__name__}.{name}"
    for name, value in vars(module).items():
        mine = name in bound(tree) or getattr(value, "__module__", None) == own
        if mine and isinstance(value, _lru_cache_wrapper) and not is_constant_type(result_type(value)):
            yield f"{own}.{name}"
    for name in written(tree, module):
        yield f"{own}.{name}"


def bound(tree: ast.Module) -> Iterator[str]:
    """The names that a module gives to values."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=targets):
                yield from (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name


def result_type(cached: Any) -> Any:
    function = inspect.unwrap(cached)
    return get_type_hints(function).get("return", Any) if inspect.isfunction(function) else Any


def is_constant(value: Any) -> bool:
    """Whether a value does not change; a container may, by what `written` finds."""
    kind = type(value)
    if isinstance(value, CONTAINERS):
        inside = value.values() if isinstance(value, dict) else value
        return kind in CONTAINERS and all(map(is_constant, inside))
    if isinstance(value, tuple | frozenset):
        return all(map(is_constant, value))
    if isinstance(value, (type, enum.Enum, logging.Logger, ModuleType, *SET_UP_AT_IMPORT)):
        return True
    if dataclasses.is_dataclass(value):
        parts = (getattr(value, one.name) for one in dataclasses.fields(value))
        return is_constant_type(kind) and all(map(is_constant, parts))
    return kind.__module__ in CONSTANTS_OF or getattr(value, "__dict__", None) == {}


def is_constant_type(hint: Any) -> bool:
    """Return whether no value with this annotation can change."""
    origin = get_origin(hint)
    if origin is not None:
        return is_constant_type(origin) and all(map(is_constant_type, get_args(hint)))
    if hint is Any or hint in CONTAINERS:
        return False
    if dataclasses.is_dataclass(hint):
        return bool(hint.__dataclass_params__.frozen)  # type: ignore[union-attr]
    if isinstance(hint, type):
        return issubclass(hint, tuple | ast.AST) or hint.__module__ in CONSTANTS_OF
    return type(hint).__module__ in CONSTANTS_OF


def written(tree: ast.Module, module: ModuleType) -> Iterator[str]:
    """The names outside of functions that functions of a module rebind, or whose containers they write into."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        nodes = list(ast.walk(function))
        local = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        local |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        for node in nodes:
            if isinstance(node, ast.Global):
                yield from node.names
            for target in targets(node):
                name = ast.unparse(target)
                if name.partition(".")[0] not in local and isinstance(value_of(name, module), CONTAINERS):
                    yield name


def targets(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions whose values a piece of code writes into."""
    match node:
        case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
            yield value
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in WRITES:
            yield value


def value_of(name: str, module: ModuleType) -> Any:
    """What a dotted name means in a module; None for anything else."""
    first, *rest = name.split(".")
    value = vars(module).get(first)
    for part in rest:
        value = getattr(value, part, None)
    return value


def test_modules_share_nothing_between_threads_that_changes() -> None:
    packages = (mcp_servers, *(import_module(f"training_worker.{name}") for name in PLAIN))
    found = {name for package in packages for module in modules(package) for name in shared_state(module)}
    assert sorted(found ^ set(ALLOWED)) == []


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("generator", "@functools.cache\ndef generator() -> faker.Generator:\n    return faker.Factory.create()"),
        ("generator", "@functools.lru_cache(9)\ndef generator():\n    return random.Random()"),
        ("generator", "generator = functools.cache(functools.partial(random.Random, 7))"),
        ("rows", "@functools.cache\ndef rows(seed: int) -> list[str]:\n    return []"),
        ("FAKE", "FAKE = faker.Factory.create()"),
        ("DRAW", "DRAW: random.Random = random.Random(7)"),
        ("KEPT", "KEPT = collections.OrderedDict()"),
        ("NUMBERS", "NUMBERS = itertools.count()"),
        ("BOTH", "BOTH = (1, random.Random(7))"),
        ("Words.fake", "class Words:\n    fake = faker.Factory.create()"),
        ("SEEN", "SEEN = {}\ndef see(word):\n    SEEN[word] = 1"),
        ("SEEN", "SEEN = {}\ndef forget(word):\n    del SEEN[word]"),
        ("SEEN", "SEEN = []\ndef see(word):\n    SEEN.append(word)"),
        ("Words.seen", "class Words:\n    seen = set()\n    def see(self, word):\n        Words.seen.add(word)"),
        ("count", "count = 0\ndef see():\n    global count\n    count += 1"),
    ],
)
def test_shared_state_is_found(name: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "seeded.py").write_text(f"import collections, functools, itertools, random\nimport faker\n{code}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "seeded", raising=False)
    assert set(shared_state(importlib.import_module("seeded"))) == {f"seeded.{name}"}
