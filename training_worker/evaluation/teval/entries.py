"""T-Eval's distributed files, `*_v2.json`: the prompt and the ground truth of each entry."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from pydantic import ValidationError

from ...core.trajectory import Json, Message, UnreadableData, file_digest, loads
from ..environment import NotInstalled

DIMENSIONS = {
    "instruct": ("instruct_json", "instruct_str"),
    "plan": ("plan_json", "plan_str"),
    "reason": ("reason_json", "reason_str"),
    "retrieve": ("retrieve_json", "retrieve_str"),
    "understand": ("understand_json", "understand_str"),
    "review": ("review_str",),
}
CATEGORIES = tuple(category for categories in DIMENSIONS.values() for category in categories)
EMBEDDED = {*DIMENSIONS["plan"], *DIMENSIONS["reason"]}  # scored by text similarity
STEPS = "reason_retrieve_understand_json_v2.json"
FILES = {
    "instruct_v2.json": DIMENSIONS["instruct"],
    STEPS: ("reason_json", "retrieve_json", "understand_json"),
    **{f"{one}_v2.json": (one,) for one in ("plan_json", "plan_str", "reason_str", "retrieve_str", "understand_str")},
    "review_str_v2.json": ("review_str",),
}
MARKS = [f"{part}_{end}" for part in ("thought", "action", "args") for end in ("start", "end")]
WHERE = "get T-Eval's data (see its README at github.com/open-compass/T-Eval) and put its files there"


@dataclass(frozen=True)
class PromptMessage:
    """A message of a prompt; the role `function` answers a call that the assistant wrote as text."""

    role: Literal["system", "user", "assistant", "function"]
    content: str


@dataclass(frozen=True)
class Raw:
    """An entry as stored in a file."""

    origin_prompt: list[PromptMessage]
    ground_truth: Json
    template: Json = None
    meta_data: dict[str, Json] = field(default_factory=dict)
    meta: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One task. Entries of several categories with the same `answer_key`, if not empty, are scored on the same answer.

    `format` is "json" or "str"; `template` has the keys or marks of a call of `instruct`, `apis` the names that a plan
    in plain text may use.
    """

    id: str
    category: str
    answer_key: str
    prompt: tuple[Message, ...]
    truth: Json
    format: str
    template: Mapping[str, str] = field(default_factory=dict)
    apis: tuple[str, ...] = ()

    @property
    def dimension(self) -> str:
        return self.category.partition("_")[0]


@dataclass(frozen=True)
class Suite:
    """The entries of a folder by id, category by category. `absent` gives for an empty category the reason."""

    version: str
    entries: Mapping[str, Entry]
    absent: Mapping[str, str]


def files_in(folder: Path) -> list[str]:
    """Return the names of T-Eval's files in a folder. Raises NotInstalled where there are none."""
    there = [name for name in FILES if (folder / name).is_file()]
    if not there:
        raise NotInstalled(f"T-Eval's data is not in {folder}: none of {', '.join(FILES)}. To evaluate, {WHERE}.")
    return there


def suite_in(folder: Path) -> Suite:
    """Load the suite of a folder. Raises NotInstalled where it has none of the files, and UnreadableData."""
    there = files_in(folder)
    found = [entry for name in there for entry in entries_in(folder / name)]
    entries = {entry.id: entry for category in CATEGORIES for entry in found if entry.category == category}
    have = {entry.category for entry in found}
    digest = hashlib.sha256("".join(f"{name} {file_digest(folder / name)}\n" for name in there).encode())
    absent = {
        category: f"{name} is not in {folder}" if name not in there else f"{folder / name} has none"
        for category in CATEGORIES
        for name, categories in FILES.items()
        if category in categories and category not in have
    }
    return Suite(f"v2-{digest.hexdigest()[:12]}", entries, absent)


def entries_in(path: Path) -> Iterator[Entry]:
    """Yield the entries of a file. Raises UnreadableData, which names the file and the entry."""
    try:
        raw = loads(dict[str, Raw], path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = f", entry {'.'.join(map(str, first['loc']))}" if first["loc"] else ""
        raise not_of_teval(path, where, first["msg"]) from None
    if not raw:
        raise not_of_teval(path, "", "it has no entries")
    for key, one in raw.items():
        if fault := fault_of(one, path.name):
            raise not_of_teval(path, f", entry {key}", fault)
        yield from entries_of(key, one, path.name)


def not_of_teval(path: Path, where: str, why: str) -> UnreadableData:
    return UnreadableData(f"{path}{where}: {why}. This is not a file of T-Eval (v2): {WHERE}.")


def entries_of(key: str, raw: Raw, file: str) -> Iterator[Entry]:
    """Yield an entry for each category that scores the answer."""
    key, format = quote(key, safe=""), format_of(raw, file)
    prompt = [("user" if one.role == "function" else one.role, one.content) for one in raw.origin_prompt]
    for category in FILES[file]:
        if file == "instruct_v2.json" and not category.endswith(format):
            continue
        yield Entry(
            id=f"{category}.{key}",
            category=category,
            answer_key=key if file == STEPS else "",
            prompt=tuple(Message(role, content) for role, content in prompt),
            truth=raw.ground_truth,
            format=format,
            template=raw.template if isinstance(raw.template, dict) else {},
            apis=tuple(raw.meta.get("API_list", ())),
        )


def format_of(raw: Raw, file: str) -> str:
    """Return an entry's answer format: its own, or else that of its file."""
    kind = raw.meta.get("prompt_type") if file.startswith("plan_") else raw.meta_data.get("response_format")
    if kind is None:
        return "json" if "_json_" in file else "str" if "_str_" in file else "none"
    return "str" if kind == "string" else str(kind)


def fault_of(raw: Raw, file: str) -> str:
    """Return why the rules of its file cannot score an entry; "" where they can."""
    kind, truth, format = file.partition("_")[0], raw.ground_truth, format_of(raw, file)
    if not raw.origin_prompt:
        return "origin_prompt has no message"
    if format not in ("json", "str") or (kind not in ("instruct", "plan") and f"_{format}_" not in file):
        return f"the format {format!r} is not valid in this file"
    match kind:
        case "instruct":
            names = ["thought", "action", "args"] if format == "json" else MARKS
            if not isinstance(raw.template, dict) or any(not isinstance(raw.template.get(one), str) for one in names):
                return f"template lacks some of {', '.join(names)}"
            if not isinstance(truth, dict) or not isinstance(truth.get("args"), dict) or "action" not in truth:
                return "ground_truth lacks action and args"
        case "plan":
            apis = raw.meta.get("API_list")
            if format == "str" and not (isinstance(apis, list) and all(isinstance(one, str) for one in apis)):
                return "meta lacks API_list"
            return "" if isinstance(truth, list | str) else "ground_truth is not a plan"
        case "review":
            return "" if isinstance(truth, dict) and "answer" in truth else "ground_truth lacks answer"
        case _:
            return "" if isinstance(truth, dict | str) else "ground_truth is not a step"
    return ""
