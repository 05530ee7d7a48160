"""A page colours a difference as a gain or a loss only if it is beyond chance."""

from __future__ import annotations

import pytest
from django.template.loader import render_to_string
from scipy import stats

from prove_web.accounts.models import Project
from prove_web.evaluations.leaderboard import Slope
from prove_web.experiments.chance import Difference, of_means, of_scores, tone, verdict
from prove_web.experiments.evaluation import gains
from prove_web.experiments.models import Point, Run
from prove_web.experiments.summary_tiles import figures, tiles
from prove_web.experiments.tools import tools_of
from training_worker.evaluation.intervals import wilson
from training_worker.monitoring.metrics import TOOLS

from .trained import run_of

NOISE = (0.0, 0.02, -0.02, 0.01, -0.01, 0.015, -0.015, 0.005, -0.005, 0.0)


@pytest.mark.parametrize(
    ("low", "high", "better", "expected"),
    [
        (0.01, 0.02, "more", "good"),
        (0.01, 0.02, "less", "bad"),
        (-0.02, -0.01, "more", "bad"),
        (-0.01, 0.02, "more", "even"),
        (0.0, 0.02, "more", "even"),
        (None, None, "more", "even"),
        (0.01, 0.02, "", "even"),
    ],
)
def test_an_interval_that_holds_0_or_is_not_there_is_neither_good_nor_bad(
    low: float | None, high: float | None, better: str, expected: str
) -> None:
    assert tone(low, high, better) == expected
    assert verdict(low, high) == {"good": "better", "bad": "worse"}.get(tone(low, high), "no clear difference")


def test_the_interval_of_two_means_is_that_of_scipy_and_few_values_have_none() -> None:
    first, second = [0.1, 0.3, 0.2, 0.5, 0.4, 0.2], [0.6, 0.4, 0.7, 0.9, 0.5]
    known = stats.ttest_ind(second, first, equal_var=False).confidence_interval()
    found = of_means(first, second)
    assert (found.low, found.high) == pytest.approx((known.low, known.high)) and found.count == 5
    assert of_means(first[:4], second) == Difference(pytest.approx(0.62 - 0.275), count=4)
    assert of_means([], second) is None and of_means([0.5] * 5, [0.75] * 5) == Difference(0.25, 0.25, 0.25, 5)


def test_shares_are_compared_by_their_intervals() -> None:
    clear, unclear = of_scores(wilson(0.1, 200), wilson(0.4, 200)), of_scores(wilson(0.1, 5), wilson(0.4, 5))
    assert clear.verdict == "better" and unclear.verdict == "no clear difference"


@pytest.mark.django_db
class TestPages:
    def test_a_tile_of_a_short_run_has_no_colour_whatever_it_shows(self, project: Project) -> None:
        run = run_of(project, [0.9, 0.5, 0.4, 0.3, 0.1])
        by_name = {tile.metric.name: tile for tile in tiles(run)}
        assert by_name["reward"].change < -0.4 and by_name["reward"].trend == "even"

    def test_a_tile_is_coloured_once_its_change_is_beyond_chance(self, project: Project) -> None:
        rises = run_of(project, [0.2 + one for one in NOISE] + [0.8 + one for one in NOISE])
        still = run_of(project, [0.5 + one for one in NOISE] + [0.504 + one for one in NOISE])
        assert [tile.trend for tile in tiles(rises) if tile.metric.name == "reward"] == ["good"]
        assert [tile.trend for tile in tiles(still) if tile.metric.name == "reward"] == ["even"]
        beside = {tile.metric.name: tile for tile in figures(still, rises)[0]}["reward"]
        assert beside.baseline_tone == "bad" and beside.against.count == 10
        assert {tile.metric.name: tile for tile in figures(still, still)[0]}["reward"].baseline_tone == "even"

    def test_tools_that_were_called_a_few_times_do_not_fail_more_or_less_often(self, project: Project) -> None:
        run = run_of(project)
        for step in range(1, 11):
            late = step > 5
            made = {"pay": [40, 2 if late else 30], "look": [1, 0 if late else 1]}
            Point.objects.create(run=run, step=step, metrics={TOOLS: made})
        found = {tool.tool: tool.tone for tool in tools_of(Run.objects.get(pk=run.pk))}
        assert found == {"pay": "good", "look": "even"}


def test_a_gain_within_chance_has_no_colour() -> None:
    paired = {"before": 0.5, "after": 0.504, "difference": 0.004, "low": -0.01, "high": 0.02, "examples": 48}
    (gain,) = gains({"sampled": paired})
    text = render_to_string("experiments/signed.html", {"value": gain.difference, "low": gain.low, "high": gain.high})
    assert gain.verdict == "no clear difference" and "tone-even" in text and "+0.004" in text


def test_a_model_on_the_leaderboard_gained_only_beyond_the_intervals_of_both() -> None:
    assert Slope("a", 50.0, 52.0).tone == "even"
    assert Slope("a", 50.0, 52.0, difference=Difference(2.0, -5.0, 9.0)).tone == "even"
    assert Slope("a", 50.0, 82.0, difference=Difference(32.0, 15.0, 49.0)).tone == "good"
