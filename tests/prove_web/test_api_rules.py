"""Permissions of the API: every operation of its document, requested by every role, with every kind of token."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone
from ninja import Schema
from pydantic import BaseModel

from prove_web.accounts.models import Membership, Organisation, Project, User
from prove_web.accounts.roles import Action, Role
from prove_web.api.api import operations
from prove_web.api.models import ApiToken
from prove_web.api.tokens import issue

from .api_operations import ALL, GUARDED, OPERATIONS, ask, named, with_token
from .furnished import furnish
from .test_refusals import picture

ROLES = {"alice": Role.OWNER, "mary": Role.MAINTAINER, "bob": Role.ANNOTATOR, "victor": Role.VIEWER}
WELCOME = {200, 201, 400, 409, 422}
COMMENTS = {"edit_comment", "remove_comment", "restore_comment"}
OTHERS = {"alice": COMMENTS, "bob": COMMENTS | {"end_session", "revoke_session_token"}}  # objects of others need more
OBJECTS = (
    *("session", "token", "dataset", "example", "comment", "view", "upload", "queue"),
    *("run", "sweep", "evaluation", "job", "share", "deletion", "rule", "alert", "hook", "reward"),
)

# The action that each changing operation requires, listed by hand; all others require Action.VIEW.
MORE_THAN_LOOKING = {
    "make_project": Action.MANAGE,
    "delete_project": Action.MANAGE,
    "list_deleted_projects": Action.MANAGE,
    "restore_project": Action.MANAGE,
    "set_environment": Action.LAUNCH,
    "check_servers": Action.LAUNCH,
    "prove_graph": Action.LAUNCH,
    "open_session": Action.ANNOTATE,
    "end_session": Action.ANNOTATE,
    "call_tool": Action.ANNOTATE,
    "fork_session": Action.ANNOTATE,
    "reset_session": Action.ANNOTATE,
    "set_session_faults": Action.ANNOTATE,
    "save_call": Action.ANNOTATE,
    "rename_saved_call": Action.ANNOTATE,
    "remove_saved_call": Action.ANNOTATE,
    "make_session_token": Action.ANNOTATE,
    "revoke_session_token": Action.ANNOTATE,
    "keep_session": Action.ANNOTATE,
    "open_trajectory": Action.ANNOTATE,
    "make_dataset": Action.LAUNCH,
    "make_version": Action.LAUNCH,
    "split_dataset": Action.LAUNCH,
    "mix_datasets": Action.LAUNCH,
    "collect_rollouts": Action.LAUNCH,
    "begin_import": Action.LAUNCH,
    "read_import": Action.LAUNCH,
    "send_piece": Action.LAUNCH,
    "preview_import": Action.LAUNCH,
    "start_import": Action.LAUNCH,
    "add_comment": Action.ANNOTATE,
    "edit_comment": Action.ANNOTATE,
    "remove_comment": Action.ANNOTATE,
    "restore_comment": Action.ANNOTATE,
    "resolve_thread": Action.ANNOTATE,
    "accept_trajectory": Action.ANNOTATE,
    "keep_view": Action.ANNOTATE,
    "rename_view": Action.ANNOTATE,
    "remove_view": Action.ANNOTATE,
    "make_queue": Action.LAUNCH,
    "next_to_review": Action.ANNOTATE,
    "read_item": Action.ANNOTATE,
    "submit_review": Action.ANNOTATE,
    "undo_review": Action.ANNOTATE,
    "export_labels": Action.LAUNCH,
    "change_queue": Action.LAUNCH,
    "close_queue": Action.LAUNCH,
    "next_conflict": Action.LAUNCH,
    "read_conflict": Action.LAUNCH,
    "settle_item": Action.LAUNCH,
    "make_disagreement_queue": Action.LAUNCH,
    "read_fix": Action.ANNOTATE,
    "try_fix": Action.ANNOTATE,
    "fix_trajectory": Action.ANNOTATE,
    "launch_run": Action.LAUNCH,
    "forecast_run": Action.LAUNCH,
    "try_run": Action.LAUNCH,
    "stop_trial": Action.LAUNCH,
    "plan_sweep": Action.LAUNCH,
    "launch_sweep": Action.LAUNCH,
    "stop_sweep": Action.LAUNCH,
    "make_outside_run": Action.LAUNCH,
    "tell_run": Action.LAUNCH,
    "tell_rollouts_of_step": Action.LAUNCH,
    "end_run": Action.LAUNCH,
    "stop_run": Action.LAUNCH,
    "resume_run": Action.LAUNCH,
    "mark_run": Action.ANNOTATE,
    "keep_run": Action.LAUNCH,
    "mark_runs": Action.ANNOTATE,
    "act_on_runs": Action.LAUNCH,
    "make_export": Action.LAUNCH,
    "open_rollout": Action.ANNOTATE,
    "save_reward": Action.LAUNCH,
    "remove_reward": Action.LAUNCH,
    "write_notes": Action.ANNOTATE,
    "launch_evaluation": Action.LAUNCH,
    "change_alert": Action.ANNOTATE,
    "switch_alert_rule": Action.LAUNCH,
    "make_alert_rule": Action.LAUNCH,
    "add_ready_made_rules": Action.LAUNCH,
    "change_alert_rule": Action.LAUNCH,
    "remove_alert_rule": Action.LAUNCH,
    "restore_alert_rule": Action.LAUNCH,
    "list_webhooks": Action.MANAGE,
    "make_webhook": Action.MANAGE,
    "list_deliveries": Action.MANAGE,
    "test_webhook": Action.MANAGE,
    "switch_webhook": Action.MANAGE,
    "remove_webhook": Action.MANAGE,
    "restore_webhook": Action.MANAGE,
    "list_shares": Action.LAUNCH,
    "make_share": Action.LAUNCH,
    "withdraw_share": Action.LAUNCH,
    "delete_run": Action.LAUNCH,
    "delete_dataset": Action.LAUNCH,
    "restore_deleted": Action.LAUNCH,
    "stop_job": Action.LAUNCH,
    "move_job": Action.LAUNCH,
    "resume_job": Action.LAUNCH,
}


@pytest.fixture
def team(alice: User, mary: User, bob: User, victor: User, charlie: User) -> dict[str, User]:
    return {user.username: user for user in (alice, mary, bob, victor, charlie)}


@pytest.fixture
def names(team: dict[str, User], project: Project, settings: LazySettings, tmp_path: Path) -> dict[str, Any]:
    settings.PROVE_DATA, settings.API_RATE = tmp_path, 10**6
    return named(furnish(project, team["mary"]))


def statuses(client: Client, names: dict[str, Any]) -> dict[str, int]:
    return {each.name: ask(client, each, names) for each in GUARDED}


def test_every_operation_has_a_rule_and_a_name_of_its_own() -> None:
    every = list(operations())
    assert [each.view_func.__name__ for each in every if not hasattr(each.view_func, "rule")] == []
    assert len({each.view_func.__name__ for each in every}) == len(every) == len(OPERATIONS) + 1  # and the document
    assert {each.name for each in OPERATIONS if each not in GUARDED} == {"list_projects", "who_am_i"}


def test_what_takes_more_than_looking_is_written_down() -> None:
    assert {each.name: each.action for each in GUARDED if each.action != Action.VIEW} == MORE_THAN_LOOKING


def test_only_listed_operations_use_another_method_than_get() -> None:
    computes = {"edit_trajectory", "edit_rollout"}  # they run something and store nothing
    changing = {each.name for each in GUARDED if each.method != "get"}
    assert changing - computes <= {*MORE_THAN_LOOKING}


@pytest.mark.parametrize(
    "person", [pytest.param(name, marks=[pytest.mark.long] * (name in ("mary", "bob"))) for name in ROLES]
)
def test_an_operation_answers_the_roles_that_may_and_nobody_else(
    person: str, team: dict[str, User], names: dict[str, Any], organisation: Organisation
) -> None:
    found = statuses(with_token(team[person], organisation), names)
    allowed = {each.name for each in GUARDED if ROLES[person].covers(each.action)} - OTHERS.get(person, set())
    assert {name: status for name, status in found.items() if name in allowed and status not in WELCOME} == {}
    assert {status for name, status in found.items() if name not in allowed} <= {403}


@pytest.mark.parametrize(
    "person", [name if name == "victor" else pytest.param(name, marks=pytest.mark.long) for name in ROLES]
)
def test_a_session_is_answered_as_a_token_is(
    person: str, team: dict[str, User], names: dict[str, Any], as_user: Callable[[User], Client]
) -> None:
    found = statuses(as_user(team[person]), names)
    assert {name for name, status in found.items() if status == 403} == {
        each.name for each in GUARDED if not ROLES[person].covers(each.action)
    } | OTHERS.get(person, set())


def test_strangers_find_nothing_and_anonymous_clients_must_sign_in(
    team: dict[str, User], names: dict[str, Any], organisation: Organisation
) -> None:
    theirs = Organisation.objects.get(slug="other")
    Membership.objects.create(organisation=theirs, user=team["mary"], role=Role.OWNER)
    before = picture()
    for client in (with_token(team["charlie"], theirs), with_token(team["mary"], theirs)):
        assert {*statuses(client, names).values()} == {404}
    assert {*statuses(Client(), names).values()} == {401}
    ApiToken.objects.filter(organisation=theirs).delete()
    assert {**picture(), "ApiToken": []} == {**before, "ApiToken": []}


def test_a_token_without_the_scope_is_refused_whatever_its_person_may(
    team: dict[str, User], names: dict[str, Any], organisation: Organisation
) -> None:
    before = picture()
    for action in Action:
        made, text = issue(team["alice"], organisation, "Small", ALL)
        ApiToken.objects.filter(pk=made.pk).update(scopes=[each for each in ALL if each != action])
        client = Client(headers={"Authorization": f"Bearer {text}"})
        selected = [each for each in GUARDED if each.action == action]
        assert {ask(client, each, names) for each in selected} <= {403}
    assert {**picture(), "ApiToken": []} == {**before, "ApiToken": []}


@pytest.mark.parametrize("end", ["revoked_at", "expires_at"])
def test_a_token_that_has_ended_opens_nothing(
    end: str, team: dict[str, User], names: dict[str, Any], organisation: Organisation
) -> None:
    client = with_token(team["alice"], organisation)
    ApiToken.objects.update(**{end: timezone.now() - timedelta(seconds=1)})
    assert {*statuses(client, names).values()} == {401}


def test_nothing_of_another_project_is_found_here(
    team: dict[str, User], names: dict[str, Any], organisation: Organisation
) -> None:
    Project.objects.create(organisation=organisation, slug="second", name="Second")
    client, elsewhere = with_token(team["alice"], organisation), {**names, "project": "second"}
    selected = [each for each in GUARDED if any(f"{{{name}}}" in each.path for name in OBJECTS)]
    assert {each.name: status for each in selected if (status := ask(client, each, elsewhere)) != 404} == {}


def test_looking_changes_nothing(team: dict[str, User], names: dict[str, Any], organisation: Organisation) -> None:
    client = with_token(team["victor"], organisation)
    before = picture()
    for each in GUARDED:
        if each.action == Action.VIEW:
            getattr(client, each.method)(each.address(names)).close()
    after = picture()
    assert {name for name in before if name != "ApiToken" and before[name] != after[name]} == set()


def test_no_two_schemas_share_a_name_since_the_document_would_have_one_of_them() -> None:
    known: dict[str, set[type]] = {}
    for each in operations():
        for model in (*(model for model in each.models), *each.response_models.values()):
            for one in schemas_in(model):
                known.setdefault(one.__name__, set()).add(one)
    twice = {name: sorted(one.__module__ for one in found) for name, found in known.items() if len(found) > 1}
    assert twice == {}


def schemas_in(kind: Any, seen: set[Any] | None = None) -> Iterator[type[Schema]]:
    """Yield our schemas in an annotation, and the schemas of their fields."""
    seen = set() if seen is None else seen
    for part in get_args(kind):
        yield from schemas_in(part, seen)
    if isinstance(kind, type) and issubclass(kind, BaseModel) and kind not in seen:
        seen.add(kind)
        if kind.__module__.startswith("prove_web.api"):
            yield kind
        for field in kind.model_fields.values():
            yield from schemas_in(field.annotation, seen)
