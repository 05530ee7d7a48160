"""The arguments of a call on the page that edits a trajectory, as fields of the tool's schema and as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse

from mcp_servers.catalogue import TOOLS
from prove_web.accounts.models import Project, User
from prove_web.servers.arguments import FORM
from prove_web.trajectories.call_fields import (
    ArgumentsInput,
    as_json,
    format_arguments,
    parse_arguments,
    prefix,
    switch_editing_mode,
    validate_arguments,
    with_fields,
)
from prove_web.trajectories.edit_form import draft_of
from prove_web.trajectories.models import Trajectory
from training_worker.datasets.edits import as_it_is

from .examples import chain, dataset_of, examples

CALLS = {call.name: call.arguments for one in examples() for step in one.steps for call in step.calls}
KEY = 7


class Fields(HTMLParser):
    """Collect what a browser sends for the unchanged form of the page; `do` is the button."""

    def __init__(self, page: str):
        super().__init__()
        self.sent, self.text, self.choice, self.chosen = QueryDict(mutable=True), "", "", False
        self.feed(re.search(r"<form[^>]*data-fix.*?</form>", page, re.DOTALL)[0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        name = attributes.get("name") or ""
        if tag == "input" and attributes.get("type") != "checkbox" and name:
            self.sent.appendlist(name, attributes.get("value") or "")
        if tag == "select":
            self.choice = name
            self.sent.appendlist(name, "")
        self.chosen = tag == "option" and "selected" in attributes and "value" not in attributes
        if tag == "option" and "selected" in attributes:
            self.sent[self.choice] = attributes.get("value") or ""
        if tag == "textarea":
            self.text = name
            self.sent.appendlist(name, "")

    def handle_endtag(self, tag: str) -> None:
        self.text = "" if tag == "textarea" else self.text
        self.chosen = False

    def handle_data(self, data: str) -> None:
        if self.text:
            self.sent[self.text] += data.removeprefix("\n")
        if self.chosen:
            self.sent[self.choice] += data


def without_token(sent: QueryDict) -> dict[str, list[str]]:
    return {name: values for name, values in sent.lists() if name != "csrfmiddlewaretoken"}


def as_sent(of: str, form: object) -> dict[str, str]:
    """Return what a browser sends for the fields of one call."""
    names = {f"mode-{KEY}": FORM, f"of-{KEY}": of}
    signs = {"": "arg-", "#is": "is-", "#rows": "rows-"}
    for path, value in form.values.items():
        where, _, sign = path.partition("#")
        names[f"{signs[f'#{sign}' if sign else '']}{prefix(KEY)}{where}"] = value
    return names


@pytest.mark.parametrize("tool", sorted(CALLS))
def test_fields_say_what_json_says_and_the_other_way_round(tool: str) -> None:
    arguments = CALLS[tool]
    form = with_fields(KEY, tool, arguments)
    assert form is not None
    sent = parse_arguments(as_sent(tool, form), str(KEY), tool, "")
    assert (json.loads(sent.text), sent.fault) == (arguments, "")
    assert list(json.loads(sent.text)) == [one for one in TOOLS[tool][1].input_schema["properties"] if one in arguments]
    text = switch_editing_mode(KEY, tool, sent)
    assert text == ArgumentsInput(sent.text)
    again = switch_editing_mode(KEY, tool, text)
    assert again.text == text.text and again.form is not None and again.form.values == form.values
    assert validate_arguments(tool, again).fault == "", "and what a demonstration calls fits its schema"


def test_what_no_field_can_express_stays_json_with_a_reason() -> None:
    tool = next(iter(CALLS))
    arguments = switch_editing_mode(KEY, tool, as_json('{"no_such_parameter": 1}'))
    assert (
        arguments.form is None
        and arguments.text == '{"no_such_parameter": 1}'
        and "only be edited as JSON" in arguments.fault
    )
    assert switch_editing_mode(KEY, "no_such_tool", as_json("{}")).form is None
    broken = as_json('{"a": ')
    assert switch_editing_mode(KEY, tool, broken) == broken, "what cannot be read is kept as it was typed"


def test_a_value_that_does_not_fit_is_named_at_its_field() -> None:
    tool = next(name for name in sorted(CALLS) if any(isinstance(value, int) for value in CALLS[name].values()))
    at = next(name for name, value in CALLS[tool].items() if isinstance(value, int))
    wrong = {**CALLS[tool], at: "a few"}
    fields = validate_arguments(tool, ArgumentsInput(format_arguments(wrong), with_fields(KEY, tool, wrong)))
    assert list(fields.form.errors) == [at] and "Invalid values: 1" in fields.fault
    assert fields.form.values[at] == "a few"
    assert validate_arguments(tool, as_json(format_arguments(wrong))).fault.startswith(f"{at}: It ")


def test_another_tool_takes_over_what_its_fields_can_say() -> None:
    tool, other = "get_account", "list_accounts"
    form = with_fields(KEY, tool, CALLS[tool])
    sent = parse_arguments(as_sent(tool, form), str(KEY), other, "")
    assert json.loads(sent.text) == CALLS[tool] and (sent.form is None or sent.form.tool.name == other)
    assert not TOOLS[other][1].required


@pytest.fixture
def mending(project: Project, bob: User, as_user: Callable[[User], Client]) -> tuple[Client, str, Trajectory]:
    row = dataset_of(project, [chain()]).trajectories.get()
    return as_user(bob), reverse("trajectory-fix", args=[*project.path, row.dataset.number, row.example]), row


def test_the_page_has_fields_and_what_it_sends_unchanged_holds(mending: tuple[Client, str, Trajectory]) -> None:
    client, address, _ = mending
    sent = Fields(client.get(address).text).sent
    keys = [str(one.key) for one in draft_of(as_it_is(chain())).rows]
    assert all(sent[f"mode-{key}"] == FORM for key in keys)
    answer = client.post(address, {**dict(sent.lists()), "do": "preview"})
    assert answer.status_code == 200 and "nothing was changed" in answer.text


def test_a_switch_and_back_keeps_all_that_was_typed(mending: tuple[Client, str, Trajectory]) -> None:
    client, address, _ = mending
    first = Fields(client.get(address).text).sent
    first["say-1"] = "My <own> words"
    there = client.post(address, {**dict(first.lists()), "do": "switch-1"})
    assert 'name="arguments-1"' in there.text and "My &lt;own&gt; words" in there.text
    back = client.post(address, {**dict(Fields(there.text).sent.lists()), "do": "switch-1"})
    assert without_token(Fields(back.text).sent) == without_token(first)


def test_a_fault_is_reported_at_the_field_of_the_call_and_nothing_typed_is_lost(
    mending: tuple[Client, str, Trajectory],
) -> None:
    client, address, _ = mending
    sent = Fields(client.get(address).text).sent
    name = next(name for name in sent if name.startswith("arg-"))
    sent[name] = "x" * 3_000
    answer = client.post(address, {**dict(sent.lists()), "do": "save"})
    assert answer.status_code == 422 and f'id="{name}-error"' in answer.text
    assert Fields(answer.text).sent[name] == "x" * 3_000 and Trajectory.objects.count() == 1
