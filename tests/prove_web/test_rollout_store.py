"""The rollouts of a full run: indexed once, found over all steps, and available without the worker's machine."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from prove_web.accounts.models import Project, User
from prove_web.experiments.models import RolloutGroup, Run, StepRollouts
from prove_web.experiments.rollout_storage import StoredRun
from prove_web.experiments.search import LOOKUPS, NUMBERS, SIGNS, Hit, Query, SearchResults
from prove_web.live.ingest import record
from prove_web.live.models import JobEvent
from training_worker.core.trajectory import Example, Rollout, ToolCall
from training_worker.store.folder import read_rollouts
from training_worker.store.storage import Storage
from training_worker.store.uploader import bring

from .examples import abstention, chain, dataset_of
from .story import Event, event, run_job, step
from .trained import calling, good, keep_old_rollouts, keep_rollouts, run_of, saying

pytestmark = pytest.mark.django_db

SignIn = Callable[[User], Client]


@pytest.fixture
def victors(victor: User, as_user: SignIn) -> Client:
    return as_user(victor)


@pytest.fixture
def run(project: Project, settings: LazySettings, tmp_path: Path) -> Run:
    settings.PROVE_DATA, settings.PROVE_STORAGE = tmp_path / "data", ""
    return run_of(project, [0.5] * 4, dataset=dataset_of(project, [chain(), abstention()]), config={"group": 2})


def lazy(example: Example) -> Rollout:
    return saying(example, *("Done." for _ in example.turns))


def failing(example: Example) -> Rollout:
    return calling(example, ToolCall("no_such_tool", {}))


def cut(example: Example) -> Rollout:
    return replace(good(example), end="tokens", failed_at="policy")


def broken(example: Example) -> Rollout:
    return replace(good(example), reward=None, failed_at="environment", error="away", end="infrastructure")


def fill(run: Run) -> dict[int, list[Rollout]]:
    """Store four steps of different rollouts; one group of the second step is void."""
    steps = {
        1: [lazy(chain()), failing(chain()), good(abstention()), cut(abstention())],
        2: [good(chain()), broken(chain()), good(abstention()), good(abstention())],
        3: [cut(chain()), lazy(chain())],
        4: [good(chain()), good(chain())],
    }
    for number, rollouts in steps.items():
        keep_rollouts(run, number, rollouts)
    return steps


def address(run: Run, name: str, *parts: Any) -> str:
    return reverse(name, args=[*run.project.path, run.number, *parts])


def text_of(client: Client, url: str, status: int = 200) -> str:
    answer = client.get(url)
    assert answer.status_code == status
    return answer.content.decode()


# what a worker reports


def rollouts_event(seq: int, number: int, *rewards: float) -> Event:
    """Return the event that a worker reports for a step with one group."""
    group = {"number": 1, "first": 1, "example": "one", "reward": list(rewards), "advantage": list(rewards)}
    group |= {name: [0 for _ in rewards] for name in ("failed_calls", "model_tokens")}
    group |= {"end": ["answered" for _ in rewards], "tools": [["look"] for _ in rewards]}
    file = {"file": f"step-{number:06d}.parquet", "digest": "0" * 64, "bytes": 10, "tokens": "", "tokens_digest": ""}
    return event(seq, "rollouts", step=number, **file, groups=[group])


def index(run: Run) -> dict[int, list[float]]:
    return {row.step: row.rollouts["reward"] for row in RolloutGroup.objects.filter(run=run)}


@pytest.mark.usefixtures("broker")
def test_the_rollouts_of_a_step_are_indexed_and_a_repeated_event_replaces_them(project: Project) -> None:
    job = run_job(project)
    run = Run.objects.get(job=job)
    record(
        str(job.id),
        1,
        [rollouts_event(1, 1, 0.1), step(2, 1), rollouts_event(3, 2, 0.2, 0.4), step(4, 2), rollouts_event(5, 1, 0.3)],
    )
    assert index(run) == {1: [0.3], 2: [0.2, 0.4]}
    row = RolloutGroup.objects.get(run=run, step=2)
    assert (row.size, row.low, row.high, row.tools, row.ends) == (2, 0.2, 0.4, ",look,", ",answered,")
    assert [one.step for one in run.stored_steps.all()] == [1, 2]
    stored = JobEvent.objects.filter(job=job, kind="rollouts").first()
    assert stored.data["file"] == "step-000001.parquet" and "groups" not in stored.data


@pytest.mark.usefixtures("broker")
def test_going_back_voids_the_rollouts_that_came_after(project: Project) -> None:
    job = run_job(project)
    run = Run.objects.get(job=job)
    record(str(job.id), 1, [rollouts_event(1, 1, 0.1), rollouts_event(2, 2, 0.2), rollouts_event(3, 3, 0.3)])
    record(str(job.id), 1, [rollouts_event(4, 4, 0.4), event(5, "rewound", step=1), rollouts_event(6, 2, 0.9)])
    assert index(run) == {1: [0.1], 2: [0.9]}
    assert list(StepRollouts.objects.filter(run=run).values_list("step", flat=True)) == [1, 2]


def test_a_step_that_is_void_is_said_not_to_be_done(run: Run, victors: Client) -> None:
    keep_rollouts(run, 4, [good(chain()), lazy(chain())])
    run.stored_steps.all().delete()
    run.points.filter(step__gt=2).delete()
    (run.job.out / "rollouts" / "step-000004.parquet").unlink()
    assert "has not reached step 4; it is at step 2" in text_of(victors, address(run, "rollouts", 4), 404)


# far from the worker


@pytest.fixture
def far(run: Run, settings: LazySettings, tmp_path: Path) -> Storage:
    """Return the storage to which the run's worker uploads its rollouts."""
    settings.PROVE_STORAGE = f"file://{tmp_path / 'far'}"
    return Storage(settings.PROVE_STORAGE) / str(run.job_id) / "rollouts"


def test_the_rollouts_survive_the_workers_machine(run: Run, victors: Client, far: Storage) -> None:
    steps = fill(run)
    bring(run.job.out / "rollouts", far)
    pages = [address(run, "rollouts", 4), address(run, "rollout", 4, 2), address(run, "rollout-tokens", 4, 2)]
    before = [len(text_of(victors, url)) for url in pages]
    shutil.rmtree(run.job.folder)
    assert [len(text_of(victors, url)) for url in pages] == before
    store = StoredRun(run)
    assert store.steps() == [1, 2, 3, 4]
    read = list(read_rollouts(store, store.steps(), transcripts=True))
    assert read == [one for rollouts in steps.values() for one in rollouts]


def test_the_tokens_of_two_runs_are_not_mistaken_for_each_other(
    run: Run, victors: Client, far: Storage, settings: LazySettings
) -> None:
    other = run_of(run.project, [0.5] * 4, config={"group": 2})
    for one, word in ((run, "zzzz"), (other, "qqq")):
        keep_rollouts(one, 4, [saying(chain(), word), lazy(chain())])
        bring(one.job.out / "rollouts", Storage(settings.PROVE_STORAGE) / str(one.job_id) / "rollouts")
        shutil.rmtree(one.job.folder)
    pages = [text_of(victors, address(one, "rollout-tokens", 4, 1)) for one in (run, other)]
    assert [(text.count(">z</span>"), text.count(">q</span>")) for text in pages] == [(4, 0), (0, 3)]


def test_a_local_file_with_another_digest_is_not_displayed(run: Run, victors: Client, far: Storage) -> None:
    keep_rollouts(run, 4, [good(chain()), lazy(chain())])
    bring(run.job.out / "rollouts", far)
    keep_old = run.stored_steps.get(step=4).digest
    keep_rollouts(run, 4, [good(abstention()), good(abstention())])  # a worker of a void attempt goes on writing
    run.stored_steps.filter(step=4).update(digest=keep_old)
    assert chain().id in text_of(victors, address(run, "rollouts", 4))


def test_a_storage_that_is_away_or_has_another_file_says_so_and_not_where_it_is(
    run: Run, victors: Client, far: Storage, tmp_path: Path
) -> None:
    keep_rollouts(run, 4, [good(chain()), lazy(chain())])
    bring(run.job.out / "rollouts", far)
    shutil.rmtree(run.job.folder)
    far.put("step-000004.parquet", b"of another attempt")
    assert "is not the one that the run wrote" in text_of(victors, address(run, "rollouts", 4), 404)
    far.remove("step-000004.parquet")
    assert "step 4 is not in the storage" in text_of(victors, address(run, "rollouts", 4), 404)
    shutil.rmtree(tmp_path / "far")
    (tmp_path / "far").write_text("in the way")
    text = text_of(victors, address(run, "rollout", 4, 1), 404)
    assert "does not respond" in text and str(tmp_path) not in text


def test_a_run_says_that_its_rollouts_wait_for_the_storage(run: Run, victors: Client) -> None:
    page = run.get_absolute_url()
    keep_rollouts(run, 4, [good(chain()), lazy(chain())])
    at = {"job": run.job, "attempt": 1, "kind": "storage", "at": "2026-01-02T03:04:05+00:00"}
    JobEvent.objects.create(seq=1, data={"waiting": 3, "error": "The storage did not answer."}, **at)
    assert "3 rollout files not uploaded yet" in text_of(victors, page)
    JobEvent.objects.create(seq=2, data={"waiting": 0, "error": ""}, **at)
    assert "files of rollouts wait" not in text_of(victors, page)


# over all steps


def brute(steps: dict[int, list[Rollout]]) -> list[tuple[int, int, Rollout]]:
    return [(number, place, one) for number, made in steps.items() for place, one in enumerate(made, 1)]


@pytest.mark.parametrize(
    ("query", "holds"),
    [
        ("", lambda step, one: True),
        ("tool:no_such_tool", lambda step, one: any(made.call.name == "no_such_tool" for made in one.calls)),
        ("tool:no_such", lambda step, one: False),
        ("end:tokens", lambda step, one: one.end == "tokens"),
        ("end:tokens step>1", lambda step, one: one.end == "tokens" and step > 1),
        ("reward<0.5", lambda step, one: one.reward is not None and one.reward.total < 0.5),
        ("reward>=1 calls>0", lambda step, one: one.reward is not None and one.reward.total >= 1 and bool(one.calls)),
        ("calls=0", lambda step, one: not one.calls),
        ("failed>0", lambda step, one: any(made.level < 3 for made in one.calls)),
        (f"example:{chain().id} step<=2", lambda step, one: one.example == chain().id and step <= 2),
        ("step=3", lambda step, one: step == 3),
    ],
)
def test_a_query_finds_the_rollouts_it_holds_of_and_no_other(
    query: str, holds: Callable[[int, Rollout], bool], run: Run
) -> None:
    steps = fill(run)
    wanted = [(number, place) for number, place, one in brute(steps) if holds(number, one)]
    assert [(hit.step, hit.index) for hit in SearchResults(run, Query.parse_text(query))] == wanted


BOUNDS = st.tuples(st.sampled_from(NUMBERS), st.sampled_from(list(SIGNS)), st.sampled_from([-0.5, 0, 0.5, 1, 1.3, 3]))


@hypothesis_settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bounds=st.lists(BOUNDS, min_size=1, max_size=3))
def test_narrowing_down_in_the_database_loses_nothing(run: Run, bounds: list[tuple[str, str, float]]) -> None:
    if not run.groups.exists():
        fill(run)
    query = Query.parse_text(" ".join(f"{name}{sign}{value:g}" for name, sign, value in bounds))
    assert not query.strange and set(LOOKUPS) == set(SIGNS)
    assert list(SearchResults(run, query)) == [hit for hit in SearchResults(run, Query()) if holds_of(query, hit)]


def holds_of(query: Query, hit: Hit) -> bool:
    values = {**vars(hit), "calls": len(hit.tools)}
    return all(values[name] is not None and SIGNS[sign](values[name], bound) for name, sign, bound in query.bounds)


def test_the_page_finds_orders_and_leads_to_each_rollout(run: Run, victors: Client) -> None:
    fill(run)
    url = address(run, "run-rollouts")

    def hits(query: str) -> list[Hit]:
        return list(victors.get(url + query).context["page"].object_list)

    assert len(hits("")) == 12
    best = [hit.reward for hit in hits("?order=-reward")]
    assert best[-1] is None and best[:-1] == sorted(best[:-1], reverse=True)
    assert [hit.step for hit in hits("?order=-step&q=step%3E2")] == [4, 4, 3, 3]
    text = text_of(victors, url + "?q=end:tokens+step:3", 422)
    assert "<code>step:3</code>" in text and "is not a valid filter" in text
    assert address(run, "rollout", 3, 1) in text_of(victors, url + "?q=end:tokens")
    assert "No matching rollouts" in text_of(victors, url + "?q=tool:nothing")
    assert "&lt;script&gt;" in text_of(victors, url + "?q=<script>", 422)
    assert len(hits(f"?q=step%3C{'9' * 400}")) == 12 and not hits(f"?q=step%3E={'9' * 30}")


def test_one_conversation_is_followed_over_the_run(run: Run, victors: Client) -> None:
    steps = fill(run)
    answer = victors.get(address(run, "run-example", chain().id))
    groups = answer.context["groups"]
    assert [number for number, _ in groups] == [1, 2, 3, 4]
    assert [len(group.members) for _, group in groups] == [2, 2, 2, 2]
    assert [group.void for _, group in groups] == [False, True, False, False]
    first = [one.reward.total for one in steps[1][:2] if one.reward]
    assert groups[0][1].rewards == first and answer.context["first"] == pytest.approx(sum(first) / 2)
    assert chain().turns[0][:20] in answer.content.decode()
    assert "has not used it" in text_of(victors, address(run, "run-example", "nothing"))


def test_pages_over_a_full_run_take_a_fixed_number_of_queries(
    run: Run, victors: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(1, 31):
        keep_rollouts(run, number, [good(chain()), lazy(chain())] * 4)
    for url in (address(run, "run-rollouts") + "?q=reward%3C2", address(run, "run-example", chain().id)):
        with django_assert_max_num_queries(13):
            text_of(victors, url)


def test_a_run_without_an_index_says_where_its_rollouts_are(run: Run, victors: Client) -> None:
    keep_old_rollouts(run, 4, [good(chain()), lazy(chain())])
    assert "No rollout index" in text_of(victors, address(run, "run-rollouts"))


# tokens


def test_tokens_are_displayed_on_request_with_those_of_the_model_marked(run: Run, victors: Client) -> None:
    evil = "<script>alert(1)</script>"
    keep_rollouts(run, 4, [saying(chain(), evil, "Done.", "Done."), lazy(chain())])
    url = address(run, "rollout-tokens", 4, 1)
    assert url in text_of(victors, address(run, "rollout", 4, 1))
    text = text_of(victors, url)
    assert "<html" not in text and "<script>" not in text
    assert text.count('class="token token-1" title="token') == len(f"{evil}Done.Done.")  # exp(-0.5) is 0.61
    assert "log-probability -0.500, probability 0.607" in text and "&lt;</span>" in text
    assert "not generated by the model" in text


@pytest.mark.long
def test_many_tokens_come_in_parts(run: Run, victors: Client) -> None:
    keep_rollouts(run, 4, [saying(chain(), "x" * 4_500), lazy(chain())])
    url = address(run, "rollout-tokens", 4, 1)
    first, second, third = (text_of(victors, f"{url}?after={after}") for after in ("nonsense", "2000", "4000"))
    assert "?after=2000" in first and "?after=4000" in second and "?after=" not in third
    assert (
        first.count(">x</span>") == second.count(">x</span>") == 2_000 and "Prompt" in first and "Prompt" not in second
    )


@pytest.mark.parametrize(("keeps", "says"), [("last", "of the newest step only"), ("none", "of no step")])
def test_a_page_without_tokens_says_which_are_stored(keeps: str, says: str, run: Run, victors: Client) -> None:
    run.config |= {"keep_tokens": keeps}
    run.save()
    fill(run)
    text = text_of(victors, address(run, "rollout-tokens", 1, 1))
    assert "are not stored" in text and says in text
