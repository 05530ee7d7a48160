"""The page about metrics has the table that the code makes, and names every part of a question."""

import re
from pathlib import Path

from prove_web.experiments.metric_series import MOST
from training_worker.monitoring.metrics import HELD_OUT, METRICS, table

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text("utf-8")


def test_the_table_of_metrics_equals_the_codes() -> None:
    assert table() in PAGE, "write it anew: .venv/bin/python -m training_worker.monitoring.metrics"


def test_a_metric_has_one_name_one_formula_and_a_word_on_what_is_healthy() -> None:
    known = (*METRICS, *HELD_OUT)
    assert len({metric.name for metric in known}) == len(known) == len({metric.formula for metric in known})
    for metric in known:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", metric.name) and "|" not in metric.formula + metric.healthy
        assert metric.formula.endswith(".") and metric.healthy.endswith(".")


def test_the_page_tells_how_many_points_are_sent() -> None:
    assert f"({MOST:,})" in PAGE
