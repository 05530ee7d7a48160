"""Rollouts of runs that are trained elsewhere: sent step by step, displayed and found like those of our own."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from prove_web.accounts.models import Organisation, Project, User
from prove_web.alerts.evaluator import scan_new_steps
from prove_web.experiments.models import Run
from prove_web.experiments.rollout_storage import StoredRun
from prove_web.live.models import JobEvent
from training_worker.client.runs import pieces
from training_worker.store.folder import read_one

from .api_operations import with_token
from .test_outside import RUNS, made

Event = dict[str, Any]


@pytest.fixture
def api(mary: User, organisation: Organisation, project: Project, settings: LazySettings, tmp_path: Path) -> Client:
    settings.PROVE_DATA = tmp_path
    return with_token(mary, organisation)


def tell(api: Client, run: Run, step: int, groups: Any, status: int = 200) -> Event:
    address = f"{RUNS}/{run.number}/outside/rollouts/{step}"
    body = groups if isinstance(groups, dict) else {"groups": groups}
    answer = api.put(address, body, content_type="application/json")
    assert answer.status_code == status, answer.content
    found: Event = answer.json()
    return found


def group(prompt: str, *rewards: float | None, **more: Any) -> Event:
    rollouts = [{"completion": f"Answer {at}", "reward": reward} for at, reward in enumerate(rewards)]
    return {"prompt": prompt, "rollouts": rollouts, **more}


CONVERSED = {
    "completion": [
        {"role": "assistant", "content": "Let me see.", "calls": [{"tool": "look_up", "arguments": {"city": "Paris"}}]},
        {"role": "tool", "content": "<b>18</b> degrees"},
        {"role": "assistant", "calls": [{"tool": "tell", "arguments": None, "ok": False, "result": "refused"}]},
        {"role": "assistant", "content": "It is 18 degrees."},
    ],
    "reward": 0.75,
    "parts": {"format": 0.25, "coverage": 0.5},
    "tokens": 31,
    "end": "tokens",
}


def test_they_are_on_every_page_that_shows_rollouts(api: Client, as_user: Callable[[User], Client], mary: User) -> None:
    run = made(api)
    weather = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How warm is Paris?"}]
    plain = {"completion": "No idea <script>", "reward": 0.0}
    groups = [{"prompt": weather, "rollouts": [CONVERSED, plain]}, group("What now", 0.5, 0.5, name="my:now")]
    assert tell(api, run, 7, groups) == {"stored": 4}
    client, place = as_user(mary), ["acme", "demo", run.number]

    def page(name: str, *rest: Any, status: int = 200, **query: Any) -> str:
        answer = client.get(reverse(name, args=[*place, *rest]), query)
        assert answer.status_code == status, name
        return answer.content.decode()

    name = run.groups.get(number=1).example
    assert name.startswith("how-warm-is-paris-") and name in page("rollouts", 7) and "my:now" in page("rollouts", 7)
    assert "no longer in the dataset" not in page("rollouts", 7) + page("rollout-group", 7, 1)
    first = page("rollout", 7, 1)
    assert "How warm is Paris?" in first and "Be brief." in first and "look_up" in first
    assert "&lt;b&gt;18" in first and "<b>18" not in first and "format <strong>0.25" in first
    assert "No idea &lt;script&gt;" in page("rollout", 7, 2)
    assert "look_up" in page("rollout-group", 7, 1) and page("rollout-group", 7, 2)
    assert page("run-example", "my:now") and page("run-outcomes") and page("run-tools")
    hits = {
        "tool:look_up": [1],
        "tool:tell outcome:state": [1],
        "reward<0.4": [2],
        "advantage>0.3": [1],
        "end:tokens": [1],
        "example:my:now": [3, 4],
        "tokens=31": [1],
    }
    for query, expected in hits.items():
        found = api.get(f"{RUNS}/{run.number}/rollouts", {"q": query}).json()["items"]
        assert [each["index"] for each in found] == expected, query
    assert "look_up" in page("run-rollouts", q="tool:look_up")
    rollout = api.get(f"{RUNS}/{run.number}/rollouts/7/1").json()
    assert rollout["calls"][0]["observation"] == "<b>18</b> degrees" and [one["turn"] for one in rollout["calls"]] == [
        0,
        1,
    ]
    assert page("rollout-tokens", 7, 1)
    for format in ("jsonl", "csv"):
        sent = client.get(reverse("rollouts-export", args=[*place, 7, format]))
        assert sent.status_code == 200 and b"look_up" in b"".join(sent.streaming_content)
    assert reverse("rollouts", args=[*place, 7]) in client.get(run.get_absolute_url()).content.decode()
    tell(api, run, 12, groups)
    assert reverse("rollouts", args=[*place, 12]) in page("rollouts", 7)
    assert "logged no rollouts of step 9" in page("rollouts", 9, status=404)
    assert "run-collect" not in first and client.get(reverse("run-collect", args=place)).status_code == 200
    form = {"name": "Mine", "steps": "7", "groups": "", "low": "", "high": ""}
    refused = client.post(reverse("run-collect", args=place), form)
    assert refused.status_code == 422 and b"external run" in refused.content


def test_nothing_is_taken_that_would_fill_the_disk_or_take_long_to_read(api: Client, settings: LazySettings) -> None:
    run = made(api)
    long = {"completion": [{"role": "assistant", "calls": [{"tool": "look_up"}]}] * 1_001, "reward": 1.0}
    assert "completion" in tell(api, run, 1, [{"prompt": "x", "rollouts": [long]}], 422)["where"]
    assert "reward" in tell(api, run, 1, [group("What now", 1.7e308, 1.7e308)], 422)["where"]
    settings.FREE_GB = 10**9
    assert "free" in tell(api, run, 1, [group("What now", 0.5)], 507)["error"]
    assert not run.stored_steps.exists()


def test_alerts_look_at_them_as_at_any(api: Client) -> None:
    run = made(api)
    tell(api, run, 1, [{"prompt": "x", "rollouts": [CONVERSED]}, group("What now", 0.5, None)])
    scan_new_steps(run)
    assert [*run.patterns.values_list("step", flat=True)] == [1]


@pytest.mark.long
def test_rollouts_sent_again_replace_the_earlier_ones_and_the_same_is_stored_once(api: Client) -> None:
    draw, run = random.Random(2), made(api)
    last: dict[int, list[Event]] = {}
    for _ in range(12):
        step = draw.randrange(3)
        sizes = [draw.randint(1, 4) for _ in range(draw.randint(1, 3))]
        last[step] = [group(f"Q{at}", *(draw.random() for _ in range(size))) for at, size in enumerate(sizes)]
        assert tell(api, run, step, last[step])["stored"] == sum(sizes)
        events = JobEvent.objects.filter(job=run.job_id).count()
        assert tell(api, run, step, last[step]) == {"stored": 0}
        assert JobEvent.objects.filter(job=run.job_id).count() == events
    for step, groups in last.items():
        rows = run.groups.filter(step=step).order_by("number")
        rewards = [[one["reward"] for one in each["rollouts"]] for each in groups]
        assert [row.rollouts["reward"] for row in rows] == rewards
        one = read_one(StoredRun(run), step, 1)
        assert one is not None and one.reward is not None and one.reward.total == rewards[0][0]


def test_a_large_step_comes_in_pieces_each_of_which_replaces_what_is_after_it(api: Client) -> None:
    run = made(api)
    tell(api, run, 1, [group(f"Q{at}", float(at), 0.0) for at in range(5)])
    tell(api, run, 1, {"first": 3, "groups": [{"prompt": "New", "rollouts": [CONVERSED]}]})
    names = [*run.groups.order_by("number").values_list("example", flat=True)]
    assert [name.split("-")[0] for name in names] == ["q0", "q1", "new"]
    assert [row.rollouts["reward"] for row in run.groups.order_by("number")] == [[0.0, 0.0], [1.0, 0.0], [0.75]]
    tell(api, run, 1, {"first": 4, "groups": [group("Last", 1.0)]})
    assert [row.rollouts["model_tokens"] for row in run.groups.order_by("number")] == [
        [None] * 2,
        [None] * 2,
        [31],
        [None],
    ]
    for step, first in ((1, 6), (2, 2)):
        refusal = tell(api, run, step, {"first": first, "groups": [group("x", 1.0)]}, status=422)
        assert "Start with group 1" in refusal["error"] and refusal["where"] == "body.first"


def test_the_client_sends_so_much_at_once_as_the_site_reads() -> None:
    groups = [group("é" * size, 1.0) for size in (400_000, 100, 40_000, 430_000, 10)]
    found = [*pieces(groups)]
    assert [len(one) for one in found] == [3, 2] and [each for one in found for each in one] == groups
    assert [*pieces([])] == []


def test_a_rollout_without_a_reward_makes_its_group_void_and_given_advantages_stay(api: Client) -> None:
    run = made(api)
    given = group("Told", 1.0, 0.0)
    given["rollouts"][0]["advantage"] = 2.5
    tell(api, run, 1, [group("Void", 1.0, None), given, group("Usual", 1.0, 0.0)])
    rows = run.groups.order_by("number")
    assert [row.rollouts["advantage"] for row in rows] == [[None, None], [2.5, None], [0.5, -0.5]]
    assert [group["void"] for group in api.get(f"{RUNS}/{run.number}/rollouts/1").json()] == [True, False, False]
    void = api.get(f"{RUNS}/{run.number}/rollouts/1/2").json()
    assert void["reward"] is None and void["error"] == "No reward was logged for this rollout."


@pytest.mark.parametrize(
    ("groups", "where"),
    [
        ([], "body.groups"),
        ([group("x")], "rollouts"),
        ([group("x", 1.0, name="with blank")], "groups.0"),
        ([group("x", 1.0), group("a\0b", 1.0)], "groups.1"),
        ([group("x" * 399_999, 1.0)], "groups.0.rollouts.0"),
        ([group("x", *[0.5] * 1_100), group("y", *[0.5] * 1_100)], "groups"),
        ([{"prompt": "x", "rollouts": [{"completion": "y", "reward": "0.5"}]}], "reward"),
        ([{"prompt": "x", "rollouts": [{"completion": [{"role": "robot", "content": "y"}]}]}], "role"),
    ],
)
def test_what_does_not_fit_is_refused_completely_with_a_reason(api: Client, groups: Any, where: str) -> None:
    run = made(api)
    refusal = tell(api, run, 1, groups, status=422)
    assert where in str(refusal) and refusal["do"]
    assert not run.groups.exists() and not StoredRun(run).steps()


def test_words_about_a_zero_character_are_words(api: Client) -> None:
    assert tell(api, made(api), 1, [group(r"What is \u0000?", 1.0)]) == {"stored": 1}


def test_a_run_has_no_more_of_them_than_the_limit(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    run = made(api)
    tell(api, run, 1, [group("x", 1.0)])
    monkeypatch.setattr("prove_web.experiments.outside.rollouts.LARGEST", 10)
    assert "the storage limit" in tell(api, run, 2, [group("x", 1.0)], status=422)["error"]
    assert tell(api, run, 1, [group("x", 0.5)]) == {"stored": 1}


def test_another_machine_of_the_site_finds_them_in_the_storage(
    api: Client, settings: LazySettings, tmp_path: Path, django_capture_on_commit_callbacks: Any
) -> None:
    settings.PROVE_STORAGE = (tmp_path / "far").as_uri()
    run = made(api)
    with django_capture_on_commit_callbacks(execute=True):
        tell(api, run, 3, [group("x", 1.0)])
    settings.PROVE_DATA = tmp_path / "other"
    one = read_one(StoredRun(run), 3, 1)
    assert one is not None and one.transcript[-1].content == "Answer 0"
