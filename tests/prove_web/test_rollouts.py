"""The rollouts of a step: groups with advantages, one rollout with its conversation and its ledger."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import isclose
from pathlib import Path
from statistics import stdev

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from prove_web.accounts.models import Project, User
from prove_web.experiments.credit import ledger
from prove_web.experiments.models import Run
from prove_web.experiments.rollouts import groups_of
from training_worker.core.trajectory import Example, ExecutedCall, Rollout, ToolCall
from training_worker.reward import PAPER, score

from .examples import abstention, chain, dataset_of, examples
from .trained import calling, good, keep_old_rollouts, keep_rollouts, run_of, saying

pytestmark = pytest.mark.django_db

SignIn = Callable[[User], Client]
STEP = 4


@pytest.fixture
def victors(victor: User, as_user: SignIn) -> Client:
    return as_user(victor)


@pytest.fixture
def run(project: Project, settings: LazySettings, tmp_path: Path) -> Run:
    settings.PROVE_DATA = tmp_path
    return run_of(project, [0.5] * STEP, dataset=dataset_of(project, [chain(), abstention()]), config={"group": 2})


def page(run: Run, index: int | None = None, step: int = STEP) -> str:
    parts = [*run.project.path, run.number, step, *([] if index is None else [index])]
    return reverse("rollouts" if index is None else "rollout", args=parts)


def read(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def lazy(example: Example) -> Rollout:
    """Return the rollout of a policy that says it is done and calls nothing."""
    return saying(example, *("Done." for _ in example.turns))


def test_the_advantage_is_the_reward_minus_the_mean_of_the_group(run: Run) -> None:
    keep_rollouts(run, STEP, [good(chain()), lazy(chain()), good(abstention()), good(abstention())])
    first, second = groups_of(run, STEP)
    rewards = [member.reward for member in first.members]
    mean = sum(rewards) / 2
    assert [member.advantage for member in first.members] == pytest.approx([rewards[0] - mean, rewards[1] - mean])
    assert [member.sign for member in first.members] == ["good", "bad"]
    assert (first.silent, second.silent) == (False, True)
    assert [member.index for group in (first, second) for member in group.members] == [1, 2, 3, 4]


def test_a_group_with_a_failure_that_is_not_the_policys_is_void(run: Run, victors: Client) -> None:
    broken = replace(
        good(chain()), reward=None, failed_at="environment", error="banking: KeyError", end="infrastructure"
    )
    keep_rollouts(run, STEP, [good(chain()), broken])
    (group,) = groups_of(run, STEP)
    assert group.void and [member.advantage for member in group.members] == [None, None]
    assert "a reason outside the policy" in read(victors, page(run))
    assert "banking: KeyError" in read(victors, page(run, 2))


def test_groups_stand_side_by_side_sorted_and_filtered_by_the_address(run: Run, victors: Client) -> None:
    keep_rollouts(run, STEP, [good(abstention()), good(abstention()), good(chain()), lazy(chain())])

    def numbers(query: str = "") -> list[int]:
        return [group.number for group in victors.get(page(run) + query).context["groups"]]

    assert numbers() == [1, 2]
    assert numbers("?sort=spread") == [2, 1]
    assert numbers("?sort=worst") == [2, 1]
    assert numbers("?sort=best") == [1, 2]
    assert numbers("?only=signal") == [2]
    assert numbers("?sort=nonsense&only=nonsense") == [1, 2]
    assert "1 of 2, 50 %" in read(victors, page(run))


def test_the_groups_of_a_step_take_a_fixed_number_of_queries(
    run: Run, victors: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    keep_rollouts(run, STEP, [good(chain()), lazy(chain())] * 12)
    for url in (page(run), page(run, 3)):
        with django_assert_max_num_queries(13):
            read(victors, url)


@pytest.mark.parametrize(
    ("step", "said"),
    [(STEP + 1, "has not reached step 5; it is at step 4"), (2, "no longer in the data folder")],
)
def test_rollouts_that_are_not_there_say_why(step: int, said: str, run: Run, victors: Client) -> None:
    for url in (page(run, step=step), page(run, 1, step)):
        answer = victors.get(url)
        assert answer.status_code == 404 and said in answer.content.decode()


@pytest.mark.parametrize(
    ("keep", "name", "says"),
    [
        (keep_rollouts, "step-000001.parquet", "The file step-000001.parquet (12 bytes) is damaged or truncated"),
        (keep_old_rollouts, "step-000001.jsonl", "cannot be read"),
    ],
)
def test_a_missing_or_damaged_file_is_reported_without_its_path(
    keep: Callable[..., None], name: str, says: str, run: Run, victors: Client
) -> None:
    keep(run, 1, [good(abstention())] * 2)
    assert "has no rollout file of step 2" in victors.get(page(run, step=2)).content.decode()
    (run.job.out / "rollouts" / name).write_text('{"example": ', "utf-8")
    for url in (page(run, step=1), page(run, 1, step=1)):
        answer = victors.get(url)
        text = answer.content.decode()
        assert answer.status_code == 404 and says in text and str(run.job.folder) not in text
    (run.job.out / "rollouts" / name).unlink()
    assert victors.get(page(run, 1, step=1)).status_code == 404


def test_the_rollouts_of_a_run_without_a_store_look_the_same(run: Run, victors: Client) -> None:
    made = [good(chain()), lazy(chain()), good(abstention()), good(abstention())]
    keep_old_rollouts(run, STEP, made)
    old, old_pages = groups_of(run, STEP), [read(victors, page(run, index)) for index in (None, 2)]
    keep_rollouts(run, STEP, made)
    assert groups_of(run, STEP) == old
    new_pages = [read(victors, page(run, index)) for index in (None, 2)]
    assert [tidied(text) for text in new_pages] == [tidied(text) for text in old_pages]


def tidied(text: str) -> str:
    """Return a page without the parts that change at each request."""
    return re.sub(r'nonce="[^"]*"|csrfmiddlewaretoken" value="[^"]*"|"X-CSRFToken": "[^"]*"', "", text)


def test_the_advantage_is_the_one_it_was_trained_with(run: Run) -> None:
    keep_rollouts(run, STEP, [good(chain()), lazy(chain())], scale="group")
    (group,) = groups_of(run, STEP)
    deviation = stdev(group.rewards)
    expected = [(reward - group.mean) / (deviation + 1e-4) for reward in group.rewards]
    assert [member.advantage for member in group.members] == pytest.approx(expected)


def test_a_rollout_shows_its_conversation_its_siblings_and_its_example(run: Run, victors: Client) -> None:
    example = chain()
    keep_rollouts(run, STEP, [good(example), lazy(example)])
    text = read(victors, page(run, 1))
    assert 'id="call-1"' in text and "Reward breakdown" in text and "Ground truth" in text
    assert page(run, 2) in text and 'aria-current="page"' in text
    assert reverse("trajectory", args=[*run.project.path, run.dataset.number, example.id]) in text
    for index in (0, 3, 99):
        assert victors.get(page(run, index)).status_code == 404


def test_what_a_model_says_is_text_and_never_markup(run: Run, victors: Client) -> None:
    evil = "</pre><script>alert(1)</script>"
    call = ToolCall(evil, {evil: evil, "nested": [evil]})
    keep_rollouts(run, STEP, [calling(chain(), call), saying(chain(), evil, evil, evil)])
    for url in (page(run), page(run, 1), page(run, 2)):
        text = read(victors, url)
        assert "<script>alert" not in text
        assert "alert(1)" in text or url == page(run)


def test_a_rollout_whose_example_is_gone_still_opens(run: Run, victors: Client) -> None:
    keep_rollouts(run, STEP, [good(chain()), lazy(chain())])
    run.dataset.trajectories.all().delete()
    assert "no longer in the dataset" in read(victors, page(run))
    assert "no longer in the dataset" in read(victors, page(run, 1))


def test_the_ledger_names_the_call_that_lost(run: Run, victors: Client) -> None:
    example = chain()
    unknown = ToolCall("no_such_tool", {})
    made = calling(example, unknown, *(call for step in example.steps for call in step.calls))
    book = ledger(made, example)
    line = book.lines[0]
    validity, coverage, _, name, arguments = line.entries
    assert (line.call, line.title, line.step) == (1, "no_such_tool", None)
    assert (validity.earned, coverage, name.earned, arguments) == (0, None, 0, None)
    assert validity.lost == pytest.approx(0.5 / len(made.calls)) and "not one of the candidate tools" in validity.why
    keep_rollouts(run, STEP, [made, made])
    assert "not one of the candidate tools" in read(victors, page(run, 1))


def test_missed_steps_are_lines_of_the_ledger() -> None:
    example = chain()
    book = ledger(lazy(example), example)
    assert [(line.call, line.step) for line in book.lines] == [(None, g + 1) for g in range(len(example.steps))]
    assert sum(line.entries[1].lost for line in book.lines) == pytest.approx(PAPER.coverage)


def test_an_abstention_has_no_ledger() -> None:
    assert ledger(good(abstention()), abstention()) is None


def played(example: Example, order: list[tuple[int, int, bool]]) -> Rollout:
    """Return a rollout of the ground truth's calls in some order, some at a lower level, some with another value."""
    calls = [call for step in example.steps for call in step.calls]
    made = []
    for place, level, spoil in order:
        call = calls[place % len(calls)]
        arguments = dict.fromkeys(call.arguments or {}, "other") if spoil else call.arguments
        made.append(ExecutedCall(ToolCall(call.name, arguments), level))
    return replace(good(example), calls=tuple(made), reward=score(example.steps, example.edges, made))


def chains() -> Iterator[Example]:
    return (example for example in examples() if not example.abstains)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    which=st.integers(0, 20),
    order=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 3), st.booleans()), max_size=12),
)
def test_the_points_of_the_ledger_add_up_to_the_reward(which: int, order: list[tuple[int, int, bool]]) -> None:
    found = list(chains())
    example = found[which % len(found)]
    made = played(example, order)
    book = ledger(made, example)
    for column, (name, points, _) in enumerate(book.totals):
        entries = [line.entries[column] for line in book.lines if line.entries[column]]
        total = sum(e.earned for e in entries) - (sum(e.lost for e in entries) if name == "efficiency" else 0)
        assert isclose(total, points, abs_tol=1e-9), name
    assert isclose(sum(points for _, points, _ in book.totals), made.reward.total, abs_tol=1e-9)
