"""A data set: the same each time, and its splits share no name of anything."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import networkx as nx
import pytest

from mcp_servers.core.rng import is_held_out_seed
from tests.prove.known import RECIPE
from training_worker.core.trajectory import Example, dumps, read_lines
from training_worker.dataflow.leakage import EMAIL, ID, NAME, identifiers
from training_worker.synthesis.__main__ import main
from training_worker.synthesis.dataset import Report, synthesize
from training_worker.synthesis.dedup import distinct

COUNT = 60
Made = tuple[list[Example], Report]


@pytest.fixture(scope="module")
def alone(graph: nx.DiGraph) -> Made:
    return synthesize(COUNT, "train", graph, RECIPE, processes=1)


def test_making_it_again_gives_the_same_and_reports_its_progress(alone: Made, graph: nx.DiGraph) -> None:
    progress: list[tuple[int, int]] = []
    assert synthesize(COUNT, "train", graph, RECIPE, lambda *now: progress.append(now), processes=1) == alone
    assert progress == sorted(progress) and progress[-1] == (COUNT, COUNT)


def test_an_example_does_not_depend_on_the_others(alone: Made, examples: tuple[Example, ...]) -> None:
    first = [example for example in examples if int(example.id.rsplit("-", 1)[1]) < COUNT]
    alike = list(distinct(first))
    assert alone[0][: len(alike)] == alike


def test_the_report_counts_what_was_accepted(alone: Made) -> None:
    accepted, report = alone
    assert (report.wanted, report.accepted) == (COUNT, len(accepted)) and report.draws >= COUNT
    assert report.accepted_by_name_alone <= report.distinct and report.accepted <= report.made <= report.draws
    assert sum(report.kinds.values()) == sum(report.lengths.values()) == len(accepted)
    assert sum(report.tools.values()) == sum(len(step.calls) for example in accepted for step in example.steps)


def test_as_many_are_made_as_were_requested(alone: Made) -> None:
    accepted, report = alone
    assert len(accepted) == COUNT and report.shortfall() == ""
    assert [int(example.id.rsplit("-", 1)[1]) for example in accepted] == sorted(
        int(example.id.rsplit("-", 1)[1]) for example in accepted
    )


def test_where_fewer_were_made_the_report_says_why() -> None:
    report = Report(wanted=500, draws=1_500, made=510, distinct=499, accepted=499, dropped=Counter({"no chain": 990}))
    assert report.shortfall() == (
        "499 of 500 conversations could be made, from 1,500 draws (11 repeated another; dropped: no chain (990 times))."
    )


def test_no_id_address_or_full_name_of_a_held_out_world_occurs_in_training(
    examples: tuple[Example, ...], held_out: tuple[Example, ...]
) -> None:
    train, held = identifiers(examples), identifiers(held_out)
    for pattern in (ID, EMAIL, NAME):
        assert sum(bool(pattern.fullmatch(one)) for one in train) > 50
        assert sum(bool(pattern.fullmatch(one)) for one in held) > 20
    assert train & held == set()


def test_the_splits_have_worlds_of_their_own(examples: tuple[Example, ...], held_out: tuple[Example, ...]) -> None:
    assert not any(is_held_out_seed(example.world.seed) for example in examples)
    assert all(is_held_out_seed(example.world.seed) for example in held_out)
    assert {example.split for example in held_out} == {"held_out"}


def test_the_command_writes_the_data_set_as_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "train.jsonl"
    assert main(["--count", "3", "--out", str(out), "--seed", "1", "--servers", "banking,calendar"]) == 0
    made = list(read_lines(Example, out))
    assert made and all(example.id.startswith("train-1-") for example in made)
    said = capsys.readouterr()
    assert len(made) == 3 and said.out.startswith("3 conversations in ") and "\r" not in said.out + said.err
    assert len({*said.err.splitlines()}) == len(said.err.splitlines()), "in a pipe no line of progress comes twice"
    assert "".join(dumps(example) + "\n" for example in made) == out.read_text("utf-8")


@pytest.mark.parametrize("bad", [("--seed", "40"), ("--candidates", "4"), ("--split", "test"), ("--count", "many")])
def test_the_command_refuses_what_no_data_set_can_have(
    bad: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["--out", str(tmp_path / "x.jsonl"), *bad])
    assert refused.value.code == 2 and bad[0] in capsys.readouterr().err
    assert not (tmp_path / "x.jsonl").exists()
