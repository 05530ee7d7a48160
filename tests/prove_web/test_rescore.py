"""`manage.py rescore`: what it prints about a run's stored rollouts, and what it refuses in one line."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from training_worker.core.trajectory import write_lines
from training_worker.environment.episode import Attempt, oracle

from .examples import abstention, chain


@pytest.fixture
def stored(tmp_path: Path) -> tuple[Path, Path]:
    """Return a run's folder with two groups in each of two steps, and the file of its examples."""
    data, run = tmp_path / "train.jsonl", tmp_path / "run"
    (run / "rollouts").mkdir(parents=True)
    write_lines(data, [chain(), abstention()])
    group = [oracle(chain()), Attempt(chain()).finish(), oracle(abstention()), oracle(abstention())]
    for step in (1, 2):
        write_lines(run / "rollouts" / f"step-{step:06d}.jsonl", group)
    return run, data


def said(run: Path, data: Path, *arguments: str, **options: Any) -> str:
    out = io.StringIO()
    call_command("rescore", str(run), "--data", str(data), *arguments, stdout=out, **options)
    return out.getvalue()


def test_means_dead_groups_and_ranks_are_printed(stored: tuple[Path, Path]) -> None:
    output = said(*stored, "--preset", "graduated", "--set", "repeats=0.1")
    assert "atomic" in output and "repeats" in output
    groups = "2 zero-variance groups before, 2 after (0 became, 0 stopped being zero-variance)"
    assert f"8 rollouts in 4 groups: {groups}" in output
    assert "0 of 2 ranked pairs swap their order" in output


def test_the_report_is_json_on_request(stored: tuple[Path, Path]) -> None:
    report = json.loads(said(*stored, "--preset", "no_coverage", "--json"))
    assert report["reward"]["coverage"] == 0 and report["groups"] == 4
    assert report["before"]["total"] == pytest.approx((1.3 + 0 + 1 + 1) / 4)
    assert report["after"]["total"] == pytest.approx((0.8 + 0 + 1 + 1) / 4)
    assert report["before"]["coverage"] == report["after"]["coverage"] == 0.5


def test_a_schedule_is_followed_from_the_first_step_to_the_last(stored: tuple[Path, Path]) -> None:
    run, data = stored
    linear = json.loads(said(run, data, "--preset", "trace_state_linear", "--json"))
    ends = [json.loads(said(run, data, "--set", "form=trace_state", f"tau={tau}", "--json")) for tau in (0.9, 0.1)]
    assert linear["after"]["total"] == pytest.approx(sum(end["after"]["total"] for end in ends) / 2)


def test_files_may_be_named_one_by_one(stored: tuple[Path, Path]) -> None:
    run, data = stored
    assert "4 rollouts in 2 groups" in said(run / "rollouts" / "step-000002.jsonl", data)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--preset", "ablation"], r"no reward preset 'ablation'\. Choose one of: paper"),
        (["--set", "coverage=NaN"], "coverage must be a finite number of at least 0, not nan"),
        (["--set", "coverag=1"], "there is no coverag, only form"),
        (["--set", "coverage"], "--set takes NAME=VALUE"),
        (["--set", "coverage=much"], "coverage: input should be a valid number"),
    ],
)
def test_a_reward_that_does_not_fit_is_refused(stored: tuple[Path, Path], arguments: list[str], reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        said(*stored, *arguments)


def test_what_is_not_there_cut_short_or_of_other_data_is_named(stored: tuple[Path, Path], tmp_path: Path) -> None:
    run, data = stored
    with pytest.raises(CommandError, match="has no rollouts: pass a run's folder"):
        said(tmp_path / "gone", data)
    with pytest.raises(CommandError, match="pass its folder with --data"):
        call_command("rescore", str(run))
    write_lines(data, [abstention()])
    with pytest.raises(CommandError, match=f"no example {chain().id}"):
        said(run, data)
    file = run / "rollouts" / "step-000001.jsonl"
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(CommandError, match=r"step-000001\.jsonl, line 4: not a valid Rollout"):
        said(run, data)
