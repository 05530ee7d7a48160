"""Sessions for programs: injected faults, branches, comparisons, saved calls, client tokens, trajectories."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from prove_web.accounts.models import Organisation, Project, User
from prove_web.api.models import ApiToken
from prove_web.servers.models import ConnectToken, LiveSession, SavedCall
from prove_web.servers.tokens import authenticate_session_token
from prove_web.trajectories.models import Trajectory

from .api_operations import Program, program
from .examples import chain, dataset_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings: LazySettings, tmp_path: Path) -> None:
    settings.PROVE_DATA = tmp_path


@pytest.fixture
def bobs(bob: User, organisation: Organisation, project: Project) -> Program:
    return program(bob, organisation)


@pytest.fixture
def session(bobs: Program) -> str:
    return f"/sessions/{bobs.post('/sessions', {'servers': ['banking'], 'seed': 7}, 201)['id']}"


def call(bobs: Program, session: str, tool: str = "list_accounts", **arguments: Any) -> Any:
    return bobs.post(f"{session}/calls", {"tool": tool, "arguments": arguments}, 201)


def test_faults_are_switched_on_and_off_and_met(bobs: Program, session: str) -> None:
    off = {"unavailable": 0, "rate_limited": 0, "stale": 0, "slow": 0, "delay": 500, "seed": 0}
    assert bobs.get(f"{session}/faults") == off
    on = off | {"unavailable": 100, "seed": 3}
    assert bobs.put(f"{session}/faults", {"unavailable": 100, "seed": 3}) == on == bobs.get(f"{session}/faults")
    assert not call(bobs, session)["ok"]
    assert bobs.put(f"{session}/faults", {}) == off and call(bobs, session)["ok"]
    wrong = bobs.put(f"{session}/faults", {"unavailable": 60, "slow": 60}, 422)
    assert wrong["where"] == "body" and "at most 100" in wrong["error"]


def test_a_session_stored_from_another_world_answers_no_more_calls(bobs: Program, session: str) -> None:
    call(bobs, session)
    LiveSession.objects.update(opening="0" * 32)
    for refused in (
        bobs.post(f"{session}/calls", {"tool": "list_accounts", "arguments": {}}, 409),
        bobs.get(f"{session}/tables", 409),
        bobs.get(f"{session}/diff", 409),
    ):
        assert "initial state of this seed has changed" in refused["error"] and "reset" in refused["do"]
    assert len(bobs.get(f"{session}/calls")["items"]) == 1
    fresh = bobs.post(f"{session}/reset", {}, 201)["id"]
    assert call(bobs, f"/sessions/{fresh}")["ok"]


def test_branches_are_the_tree_of_forks(bobs: Program, session: str) -> None:
    call(bobs, session)
    twin = bobs.post(f"{session}/fork", {}, 201)["id"]
    bobs.post(f"/sessions/{twin}/fork", {"at": 0}, 201)
    assert [one["depth"] for one in bobs.get(f"/sessions/{twin}/branches")] == [0, 1, 2]


def test_two_sessions_are_compared_from_where_they_part(bobs: Program, session: str) -> None:
    call(bobs, session)
    twin = bobs.post(f"{session}/fork", {}, 201)["id"]
    mine = session.rsplit("/", 1)[1]
    same = bobs.get(f"/sessions/compare?a={mine}&b={twin}")
    assert (same["same"], same["common"], same["rows"]) == (True, 1, 0)
    call(bobs, session)
    call(bobs, f"/sessions/{twin}", "get_account", account_id="nothing")
    comparison = bobs.get(f"/sessions/compare?a={mine}&b={twin}")
    assert [len(comparison[side]["calls"]) for side in ("one", "other")] == [1, 1]
    assert bobs.get(f"/sessions/compare?a={mine}&b={twin}&a_at=1&b_at=1")["common"] == 1
    assert bobs.get(f"/sessions/compare?a={mine}&b={twin}&b_at=9", 422)["where"] == "query.b_at"
    bobs.get(f"/sessions/compare?a={mine}&b=999999", 404)


def test_a_call_is_saved_renamed_and_removed(bobs: Program, session: str) -> None:
    call(bobs, session)
    saved = bobs.post(f"{session}/save", {"position": 1, "name": " All  accounts "}, 201)
    assert (saved["name"], saved["tool"], saved["arguments"]) == ("All accounts", "list_accounts", {})
    assert "already" in bobs.post(f"{session}/save", {"position": 1, "name": "All accounts"}, 422)["error"]
    assert bobs.post(f"{session}/save", {"position": 1, "name": " "}, 422)["where"] == "body.name"
    assert bobs.post(f"{session}/save", {"position": 9, "name": "None"}, 422)["where"] == "body.position"
    assert bobs.post(f"/saved-calls/{saved['id']}/rename", {"name": "Mine"})["name"] == "Mine"
    assert [one["name"] for one in bobs.get("/saved-calls?tool=list_accounts")["items"]] == ["Mine"]
    assert bobs.get("/saved-calls?tool=get_account")["items"] == []
    bobs.delete(f"/saved-calls/{saved['id']}")
    assert not SavedCall.objects.exists()


class TestTokens:
    def test_a_token_appears_once_and_admits_a_client_until_it_is_revoked(self, bobs: Program, session: str) -> None:
        made = bobs.post(f"{session}/tokens", {"name": "Desk"}, 201)
        assert made["address"].endswith(f"/mcp/s/{made['token']}/")
        [listed] = bobs.get(f"{session}/tokens")
        assert made["token"] not in json.dumps(listed) and (listed["name"], listed["writes"]) == ("Desk", False)
        assert authenticate_session_token(made["token"]) is not None
        assert (
            bobs.delete(f"{session}/tokens/{listed['id']}")["revoked_at"]
            and authenticate_session_token(made["token"]) is None
        )

    @pytest.mark.parametrize("end", ["revoked_at", "expires_at"])
    def test_it_ends_with_the_api_token_that_made_it(self, end: str, bobs: Program, session: str) -> None:
        text = bobs.post(f"{session}/tokens", {"name": "Desk"}, 201)["token"]
        ApiToken.objects.update(**{end: timezone.now() - timedelta(seconds=1)})
        assert authenticate_session_token(text) is None

    def test_one_that_a_person_made_in_the_browser_stays(self, bobs: Program, session: str, bob: User) -> None:
        browser = Client()
        browser.force_login(bob)
        text = Program(browser).post(f"{session}/tokens", {"name": "Desk"}, 201)["token"]
        ApiToken.objects.update(revoked_at=timezone.now())
        assert authenticate_session_token(text) is not None

    def test_those_of_others_take_more(
        self, bobs: Program, session: str, alice: User, organisation: Organisation
    ) -> None:
        program(alice, organisation).post(f"{session}/tokens", {"name": "Hers"}, 201)
        hers = ConnectToken.objects.get()
        assert "another member" in bobs.delete(f"{session}/tokens/{hers.pk}", 403)["error"]
        assert bobs.post(f"{session}/tokens", {"name": " "}, 422)["where"] == "body.name"


class TestTrajectories:
    def test_a_session_is_saved_as_a_trajectory(self, bobs: Program, session: str) -> None:
        call(bobs, session)
        call(bobs, session, "get_account", account_id="nothing")
        saved = bobs.post(f"{session}/trajectory", {"say": {"1": "Show me my accounts."}}, 201)
        assert saved["tools"] == ["list_accounts"] and saved["query"] == "Show me my accounts."
        detail = bobs.get(f"/datasets/{saved['dataset']}/trajectories/{saved['example']}")
        assert detail["record"]["turns"] == ["Show me my accounts."]

    def test_what_no_trajectory_can_be_is_refused(self, bobs: Program, session: str) -> None:
        call(bobs, session)
        assert bobs.post(f"{session}/trajectory", {}, 422)["where"] == "body"
        for wrong in ({"say": {"9": "What?"}}, {"use": [9]}):
            assert bobs.post(f"{session}/trajectory", wrong, 422)["where"] == f"body.{next(iter(wrong))}"
        assert not Trajectory.objects.exists()

    def test_a_trajectory_is_opened_and_gone_on_with(self, bobs: Program, project: Project) -> None:
        found = dataset_of(project, [chain()]).trajectories.get()
        here = f"/datasets/1/trajectories/{found.example}/session"
        opened = bobs.post(here, {"calls": 1}, 201)
        assert not opened["differs"] and opened["session"]["calls"] == 1
        assert bobs.post(here, {}, 201)["session"]["calls"] == 0
        Trajectory.objects.filter(pk=found.pk).update(record={"id": found.example})
        assert "cannot be read" in bobs.post(here, {}, 409)["error"]
