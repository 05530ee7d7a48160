"""The paper's scores: they are complete, agree with each other, and match the documents."""

from pathlib import Path

import pytest

from training_worker.evaluation.published_scores import (
    BENCHMARKS,
    COLUMNS,
    MAIN,
    MODELS,
    OVERALL,
    list_published_rows,
    model_like,
    table,
    variant_table,
    variants,
)

PAGE = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text("utf-8")


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_each_model_has_a_row_before_and_after_and_supervised(benchmark: str) -> None:
    pairs = [(one.model, one.stage) for one in list_published_rows(benchmark)]
    assert pairs == [(model, stage) for model in MODELS for stage in ("base", "PROVE", "SFT")]
    assert list_published_rows("worlds") == ()


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_an_overall_score_is_the_mean_of_its_columns_as_far_as_their_digits_tell(benchmark: str) -> None:
    rounding = 0.05 + 0.05  # of the columns, and of the mean
    for one in MAIN:
        if one.benchmark == benchmark:
            parts = [one.scores[name] for name in COLUMNS[benchmark]]
            assert one.overall == pytest.approx(sum(parts) / len(parts), abs=rounding), one


def test_published_changes_and_scores_agree() -> None:
    full = {(one.benchmark, one.model): one.overall for one in MAIN if one.stage == "PROVE"}
    for one in variants():
        for benchmark in BENCHMARKS:
            assert one.scores[benchmark] - one.change[benchmark] == pytest.approx(full[benchmark, one.model])
    assert len(variants()) == 8


def test_the_documents_have_the_papers_numbers() -> None:
    for text in (*map(table, BENCHMARKS), variant_table()):
        assert text in PAGE, "write it anew: .venv/bin/python -m training_worker.evaluation.published_scores"


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("Qwen/Qwen3-4B-Instruct-2507", "Qwen3-4B"),
        ("qwen3_8b", "Qwen3-8B"),
        ("ibm-granite/granite-4.1-8b-instruct", "Granite-4.1-8B"),
        ("Qwen2.5-7B-Instruct", "Qwen2.5-7B"),
        ("Qwen3-14B", None),
        ("warm", None),
    ],
)
def test_a_name_matches_a_model_of_the_paper_or_none(name: str, model: str | None) -> None:
    assert model_like(name) == model


def test_no_number_is_a_share_instead_of_percent() -> None:
    assert all(1 < score <= 100 for one in MAIN for score in one.scores.values()) and OVERALL == "overall"
