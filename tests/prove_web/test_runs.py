"""The runs table and a run's page: what they show, how they filter, and how many queries they take."""

import io
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from prove_web.accounts.models import Project, User
from prove_web.experiments.models import Point, Run
from prove_web.experiments.summary_tiles import BY_NAME, Tile, tiles
from prove_web.live.ingest import record
from prove_web.live.models import JobEvent, State

from .story import step, story
from .trained import RESULT, keep_checkpoint, measure, run_of

pytestmark = pytest.mark.django_db

SignIn = Callable[[User], Client]


@pytest.fixture(autouse=True)
def data(settings: LazySettings, tmp_path: Path, broker: str) -> None:
    settings.PROVE_DATA = tmp_path


@pytest.fixture
def victors(victor: User, as_user: SignIn) -> Client:
    return as_user(victor)


def names(client: Client, project: Project, query: str = "") -> list[str]:
    """Return the names of the runs in the table, from its top."""
    page = client.get(reverse("runs", args=project.path) + query)
    assert page.status_code == 200
    return [row.run.name for row in page.context.get("rows", ())]


def page_of(run: Run, client: Client, **headers: str) -> str:
    return client.get(run.get_absolute_url(), headers=headers).content.decode()


def test_a_project_without_runs_says_what_to_do(project: Project, alice: User, as_user: SignIn) -> None:
    text = as_user(alice).get(reverse("runs", args=project.path)).content.decode()
    assert "No runs yet" in text and "Launch a run" in text


def test_the_table_is_searched_filtered_and_sorted_by_its_address(project: Project, victors: Client) -> None:
    now = timezone.now()
    run_of(project, [0.5] * 20, name="Low", started_at=now, ended_at=now + timedelta(seconds=5))
    run_of(project, [0.5] * 10 + [0.9] * 10, name="High", started_at=now, ended_at=now + timedelta(seconds=3))
    run_of(project, name="Waiting", state=State.QUEUED)
    assert names(victors, project) == ["Waiting", "High", "Low"]
    assert names(victors, project, "?q=hig") == ["High"]
    assert names(victors, project, "?q=%231") == ["Low"]
    assert names(victors, project, "?q=state:queued") == ["Waiting"]
    assert names(victors, project, "?sort=-reward") == ["High", "Low", "Waiting"]
    assert names(victors, project, "?sort=reward") == ["Low", "High", "Waiting"]
    assert names(victors, project, "?sort=-took") == ["Low", "High", "Waiting"]
    assert names(victors, project, "?q=state:done low&sort=number") == ["Low"]


@pytest.mark.parametrize("column", "number state dataset steps reward gain by when took".split())
def test_every_column_sorts_both_ways_and_unknown_words_change_nothing(
    column: str, project: Project, victors: Client
) -> None:
    run_of(project, [0.5], name="One", result=RESULT)
    run_of(project, name="Two")
    assert sorted(names(victors, project, f"?sort={column}")) == ["One", "Two"]
    assert sorted(names(victors, project, f"?sort=-{column}")) == ["One", "Two"]
    assert names(victors, project, "?sort=nonsense&group=nonsense&page=nonsense") == ["Two", "One"]


def test_the_table_shows_first_and_newest_reward_held_out_gain_and_a_sparkline(
    project: Project, victors: Client
) -> None:
    run_of(project, [0.5] * 10 + [0.7] * 20 + [0.9] * 10, result=RESULT)
    page = victors.get(reverse("runs", args=project.path))
    row, text = page.context["rows"][0], page.content.decode()
    run, line = row.run, next(cell.line for cell in row.cells if cell.column.key == "reward")
    assert (run.steps, round(run.reward_start, 6), round(run.reward_now, 6), run.gain) == (40, 0.5, 0.9, 0.25)
    assert len(line.points.split()) == 21  # two steps a place, and 0 before the first
    assert '<svg class="sparkline"' in text and "+0.250" in text and "+0.12 to +0.38" in text


def test_a_short_run_is_measured_over_half_of_itself(project: Project, victors: Client) -> None:
    run = run_of(project, [0.2, 0.4, 0.6, 0.8])
    listed = victors.get(reverse("runs", args=project.path)).context["rows"][0].run
    tile = tiles(run)[0]
    assert [round(value, 6) for value in (listed.reward_start, listed.reward_now)] == [0.3, 0.7]
    assert [round(value, 6) for value in (tile.start, tile.now)] == [0.3, 0.7]


def test_the_table_takes_as_few_queries_for_many_runs_as_for_one(
    project: Project, alice: User, victors: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(24):
        run_of(project, [0.5, 0.6], by=alice, result=RESULT, config={"reward": {"name": 0.1 * number}})
    with django_assert_max_num_queries(13):
        assert len(names(victors, project)) == 24


def test_the_table_does_not_read_the_results_of_its_runs(project: Project, victors: Client) -> None:
    run_of(project, [0.5], result=RESULT)
    [row] = victors.get(reverse("runs", args=project.path)).context["rows"]
    run = row.run
    assert "result" in run.job.get_deferred_fields() and run.gain == 0.25


def test_a_figure_that_its_digits_call_zero_has_no_sign_and_no_direction() -> None:
    tile = Tile(BY_NAME["efficiency"], now=-0.0002, start=0.0)
    assert (tile.text, tile.direction, tile.trend) == ("0.000", "equal", "even")
    assert Tile(BY_NAME["efficiency"], now=-0.0006, start=0.0).text == "\N{MINUS SIGN}0.001"


def test_a_name_is_text_and_never_markup(project: Project, victors: Client) -> None:
    run = run_of(project, [0.5], name="<script>alert(1)</script>", error="<img src=x>", state=State.FAILED)
    for text in (page_of(run, victors), victors.get(reverse("runs", args=project.path)).content.decode()):
        assert "<script>alert" not in text and "<img src=x" not in text
        assert "&lt;script&gt;alert" in text


def test_tiles_say_how_a_run_stands_and_whether_that_is_good(project: Project) -> None:
    run = run_of(project, [0.5] * 10 + [0.9] * 10)
    measure(run, step_0=0.6, step_10=0.5)
    found = {tile.metric.name: tile for tile in tiles(run)}
    assert (found["reward"].text, found["reward"].start_text, found["reward"].trend) == ("0.900", "0.500", "good")
    assert (found["tool_failures"].direction, found["tool_failures"].trend) == ("down", "good")
    assert (found["held_out"].text, found["held_out"].trend) == ("0.500", "even"), "one measurement on each side"
    assert (found["step_s"].text, found["step_s"].direction, found["step_s"].trend) == ("2.0 s", "equal", "even")
    assert "entropy" not in found, "what a run does not tell has no tile"


@pytest.mark.parametrize("state", State.values)
def test_the_page_opens_in_every_state_with_and_without_points(state: str, project: Project, victors: Client) -> None:
    for rewards in ([], [0.5]):
        run = run_of(project, rewards, state=State(state), error="It broke." if state == "failed" else "")
        text = page_of(run, victors)
        assert f"state-{state}" in text
        assert "It broke." in text or state != "failed"


def test_an_htmx_request_gets_only_what_changes(project: Project, victors: Client) -> None:
    run = run_of(project, [0.5] * 4)
    full, part = page_of(run, victors), page_of(run, victors, **{"HX-Request": "true"})
    assert "<html" in full and "<html" not in part
    assert 'id="run-now"' in part and 'id="run-more"' in part and "data-curve" not in part


def test_who_may_launch_can_stop_and_clone_and_others_cannot(
    project: Project, alice: User, victors: Client, as_user: SignIn
) -> None:
    run = run_of(project, [0.5], state=State.RUNNING)
    assert "Stop after this step" in (hers := page_of(run, as_user(alice))) and "?clone=1" in hers
    assert "Stop after" not in (his := page_of(run, victors)) and "?clone=" not in his


def test_a_requested_step_leads_to_its_rollouts(project: Project, victors: Client) -> None:
    run = run_of(project, [0.5] * 4)
    answer = victors.get(run.get_absolute_url(), {"step": "3"})
    assert answer.status_code == 302 and answer.url == reverse("rollouts", args=[*project.path, run.number, 3])
    for nonsense in ("0", "-1", "x", "²", "9" * 30):
        assert victors.get(run.get_absolute_url(), {"step": nonsense}).status_code == 200


def test_the_evaluation_shows_both_comparisons_with_their_intervals(project: Project, victors: Client) -> None:
    text = page_of(run_of(project, [0.5], result=RESULT), victors)
    assert "0.500 → 0.750" in text and "+0.125 to +0.375" in text
    assert ">better<" in text and ">no clear difference<" in text


def test_the_snapshot_has_the_points_the_measurements_and_the_cursor(project: Project, victors: Client) -> None:
    run = run_of(project, state=State.QUEUED)
    record(str(run.job_id), 1, story(0, 3))
    measure(run, step_0=0.5)
    points = reverse("run-points", args=[*project.path, run.number])
    found = victors.get(points).json()
    assert found["job"] == str(run.job_id)
    assert found["cursor"] == JobEvent.objects.latest("id").pk
    assert (found["points"]["step"], found["points"]["series"]) == ([1, 2, 3], {"reward": [0.1, 0.2, 0.3]})
    assert (found["held_out"]["step"], found["held_out"]["series"]) == ([0], {"reward": [0.5]})
    record(str(run.job_id), 1, [step(6, 4)])
    assert victors.get(points).json()["cursor"] > found["cursor"]


def zip_of(project: Project, run: Run, at: int, user: User) -> tuple[int, bytes]:
    client = Client()
    client.force_login(user)
    answer = client.get(reverse("checkpoint", args=[*project.path, run.number, at]))
    return answer.status_code, answer.getvalue() if answer.streaming else b""


@pytest.mark.django_db(transaction=True)
def test_a_checkpoint_is_downloaded_as_a_zip_of_its_own_files(project: Project, victor: User, tmp_path: Path) -> None:
    run = run_of(project, [0.5] * 20)
    weights = bytes(range(256)) * 10_000
    keep_checkpoint(run, 20, weights)
    keep_checkpoint(run, 30, complete=False)
    (tmp_path / "secret").write_text("secret")
    (run.job.out / "checkpoints" / "checkpoint-20" / "link").symlink_to(tmp_path / "secret")
    status, packed = zip_of(project, run, 20, victor)
    archive = zipfile.ZipFile(io.BytesIO(packed))
    assert status == 200 and archive.testzip() is None
    assert archive.namelist() == ["checkpoint-20/model.safetensors", "checkpoint-20/progress.json"]
    assert archive.read("checkpoint-20/model.safetensors") == weights
    assert zip_of(project, run, 30, victor)[0] == zip_of(project, run, 10, victor)[0] == 404


def test_only_complete_checkpoints_are_listed(project: Project, victors: Client) -> None:
    run = run_of(project, [0.5] * 20)
    keep_checkpoint(run, 10)
    keep_checkpoint(run, 20, complete=False)
    text = page_of(run, victors)
    assert "the checkpoint of step 10<" in text and "the checkpoint of step 20<" not in text


def test_a_run_of_another_team_is_not_there(project: Project, charlie: User, as_user: SignIn) -> None:
    run = run_of(project, [0.5])
    for name in ("run", "run-points", "run-metric", "run-tools"):
        url = reverse(name, args=[*project.path, run.number])
        assert as_user(charlie).get(url).status_code == 404
    assert as_user(charlie).get(reverse("run", args=["other", "demo", run.number])).status_code == 404
    assert Point.objects.filter(run=run).exists()
