"""Arguments of a call in the edit form of a trajectory: fields of the tool's schema, or JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mcp_servers.catalogue import TOOLS
from prove_web.servers.arguments import FORM, CallForm
from prove_web.servers.field_errors import find_schema_errors
from prove_web.servers.parameters import parameters

from .entered_arguments import NotArguments, arguments_of

NO_FIELDS = "These arguments do not fit the fields of the form; they can only be edited as JSON."
UNREAD = "Some values are invalid; see the fields."


@dataclass(frozen=True)
class ArgumentsInput:
    """Submitted arguments of a call: `text` is JSON, `form` has the fields in form mode, `fault` is the error."""

    text: str
    form: CallForm | None = None
    fault: str = ""


def prefix(key: int | str) -> str:
    """Return the prefix of the names of a call's fields."""
    return f"{key}:"


def format_arguments(arguments: Any) -> str:
    return json.dumps(arguments, indent=2, ensure_ascii=False)


def with_fields(key: int, tool: str, arguments: Mapping[str, Any]) -> CallForm | None:
    """Return the fields with these arguments; None if fields can't represent them, or the tool is unknown."""
    if tool not in TOOLS:
        return None
    form = CallForm.from_arguments(TOOLS[tool][1], dict(arguments), prefix=prefix(key))
    return form if form.mode == FORM else None


def parse_arguments(post: Mapping[str, str], key: str, tool: str, text: str) -> ArgumentsInput:
    """Parse the submitted arguments of a call: `text`, or fields, which may be those of a previously chosen tool."""
    of = post.get(f"of-{key}", "")
    if post.get(f"mode-{key}") != FORM or of not in TOOLS:
        return as_json(text)
    form = CallForm.from_post(TOOLS[of][1], post, prefix(key))
    form.mode = FORM
    return read(form, tool)


def as_json(text: str) -> ArgumentsInput:
    try:
        arguments_of(text)
    except NotArguments as why:
        return ArgumentsInput(text, fault=str(why))
    return ArgumentsInput(text)


def read(form: CallForm, tool: str) -> ArgumentsInput:
    """Return the values of the fields; after a change of tool in the fields of the new tool, or else as JSON."""
    arguments = form.arguments()
    if arguments is None:
        return ArgumentsInput("{}", form, form.error or UNREAD)
    arguments = {one.name: arguments[one.name] for one in parameters(form.tool) if one.name in arguments}
    found = as_json(format_arguments(arguments))
    if form.tool.name == tool or found.fault:
        return replace(found, form=form)
    return replace(found, form=with_fields(int(form.prefix.rstrip(":")), tool, arguments))


def switch_editing_mode(key: int, tool: str, now: ArgumentsInput) -> ArgumentsInput:
    """Return the arguments in the other editing mode; unchanged, with the error, if they can't be converted."""
    if now.fault or now.form:
        return now if now.fault else ArgumentsInput(now.text)
    form = with_fields(key, tool, arguments_of(now.text))
    return replace(now, form=form, fault="" if form else NO_FIELDS)


def change_list_rows(now: ArgumentsInput, post: Mapping[str, str]) -> ArgumentsInput:
    """Return the arguments with a list row added or removed, as the pressed button requests."""
    if now.form is None:
        return now
    own = now.form.prefix
    changes = {name: post[name].removeprefix(own) for name in ("add", "remove") if post.get(name, "").startswith(own)}
    return read(now.form.apply_row_change(changes), now.form.tool.name) if changes else now


def validate_arguments(tool: str, now: ArgumentsInput) -> ArgumentsInput:
    """Return the arguments with their schema errors, each at its field."""
    if now.fault or tool not in TOOLS:
        return now
    errors, rest = find_schema_errors(TOOLS[tool][1], arguments_of(now.text))
    if not errors and not rest:
        return now
    if now.form is None:
        faults = [f"{path.replace('/', '.')}: {problem}" for path, problem in errors.items()]
        return replace(now, fault=" ".join([*faults, rest]).strip())
    now.form.errors = errors
    return replace(now, fault=rest or f"Invalid values: {len(errors)}; see the fields.")
