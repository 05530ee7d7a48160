"""The comparison of two policies on benchmarks: the requests for each, and the table that it writes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from training_worker.core.benchmark_page import PAGE
from training_worker.evaluation.compare import PairedComparison
from training_worker.experiments.evaluations import BenchmarkComparison, build_requests, main, markdown, options

ROW = PairedComparison(items=8, first=0.25, second=0.5, low=0.1, high=0.4, gained=("a", "b"), lost=(), p=0.5)


def test_both_policies_get_the_same_requests_except_for_the_folder() -> None:
    given = options(["--before", "one", "--after", "other", "--bfcl", "2"])
    before, after = build_requests(given, given.before), build_requests(given, given.after)
    assert [one.benchmark for one in before] == ["worlds", "behaviour", "bfcl"]
    assert [{**vars(one), "folder": ""} for one in before] == [{**vars(one), "folder": ""} for one in after]
    assert {one.folder for one in before} == {"one"} and {one.temperature for one in before} == {0.0}
    assert len(build_requests(options(["--bfcl", "0"]), given.before)) == 2


def test_the_table_has_a_line_for_each_category() -> None:
    about, _, head, _, *lines = markdown(
        [BenchmarkComparison("Worlds 1", (("maps", ROW), ("all", ROW)))], "Two."
    ).splitlines()
    assert about == "Two." and {line.count("|") for line in (head, *lines)} == {9}
    assert lines[0] == "| Worlds 1 | maps | 8 | 25.0 | 50.0 | +25.0 (+10.0 to +40.0) | 0.500 | - → - |"
    goals = markdown([BenchmarkComparison("Worlds 1", (("maps", replace(ROW, goals=(0.5, 0.75))),))], "").splitlines()[
        -1
    ]
    assert goals.endswith("| 0.500 | 50.0 → 75.0 |")


def test_without_a_trained_policy_it_says_how_to_get_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = PAGE.read_text("utf-8")
    assert main(["--data", str(tmp_path), "--after", str(tmp_path / "nothing")]) == 1
    assert "create one with `make pipeline`" in capsys.readouterr().out and PAGE.read_text("utf-8") == before
