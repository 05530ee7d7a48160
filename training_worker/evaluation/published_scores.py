"""Scores that the paper reports, in percent: unranked reference rows next to measured ones.

Source: arXiv 2606.03892 v2 (CC BY 4.0). It states no versions of the benchmarks, so these scores are not exactly
comparable with measured ones. `python -m training_worker.evaluation.published_scores` prints the tables of
docs/evaluation.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Stage = Literal["base", "PROVE", "SFT"]
SOURCE = "arXiv 2606.03892 v2"
OVERALL = "overall"
MODELS = ("Qwen3-4B", "Qwen3-8B", "Qwen2.5-7B", "Granite-4.1-8B")
ABLATED = "Qwen3-4B"  # the model of the ablations
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "bfcl": ("base", "miss_param", "miss_func", "long_context"),
    "tau2": ("airline", "retail", "telecom"),
    "teval": ("instruct", "plan", "reason", "retrieve", "understand", "review"),
}
BENCHMARKS = tuple(COLUMNS)
MEASURED: Mapping[str, str] = {
    "bfcl": "BFCL Multi-Turn: base, missing parameter, missing function, long context.",
    "tau2": "tau2-bench: the paper's user simulator is Qwen3-VL-235B-A22B-Instruct.",
    "teval": "T-Eval: the mean of the JSON and string formats.",
}


@dataclass(frozen=True)
class Row:
    """Scores of a model on a benchmark at one stage, by column (COLUMNS, then overall), as far as the paper states."""

    benchmark: str
    model: str
    stage: Stage
    scores: Mapping[str, float]

    @property
    def overall(self) -> float:
        return self.scores[OVERALL]


@dataclass(frozen=True)
class Variant:
    """A variant of the paper's training that differs in one thing, with its overall score on each benchmark.

    `change` is the difference to the full recipe with the same model.
    """

    model: str
    what: str
    scores: Mapping[str, float]
    change: Mapping[str, float]


def row(benchmark: str, model: str, stage: Stage, *numbers: float) -> Row:
    return Row(benchmark, model, stage, dict(zip((*COLUMNS[benchmark], OVERALL), numbers, strict=True)))


MAIN = (
    row("bfcl", "Qwen3-4B", "base", 23.5, 14.5, 14.0, 23.0, 18.8),
    row("bfcl", "Qwen3-4B", "PROVE", 35.5, 18.5, 29.0, 33.0, 29.0),
    row("bfcl", "Qwen3-8B", "base", 30.5, 19.5, 31.5, 22.5, 26.0),
    row("bfcl", "Qwen3-8B", "PROVE", 34.0, 21.5, 32.0, 20.0, 26.9),
    row("bfcl", "Qwen2.5-7B", "base", 17.0, 10.0, 14.5, 11.0, 13.1),
    row("bfcl", "Qwen2.5-7B", "PROVE", 22.5, 13.5, 18.0, 13.0, 16.8),
    row("bfcl", "Granite-4.1-8B", "base", 44.5, 26.0, 23.5, 39.5, 33.4),
    row("bfcl", "Granite-4.1-8B", "PROVE", 43.0, 24.0, 30.0, 37.0, 33.5),
    row("tau2", "Qwen3-4B", "base", 26.8, 35.1, 13.2, 25.0),
    row("tau2", "Qwen3-4B", "PROVE", 28.0, 42.1, 15.8, 28.6),
    row("tau2", "Qwen3-8B", "base", 24.0, 28.9, 24.6, 25.8),
    row("tau2", "Qwen3-8B", "PROVE", 30.0, 34.2, 23.7, 29.3),
    row("tau2", "Qwen2.5-7B", "base", 16.0, 12.3, 16.7, 15.0),
    row("tau2", "Qwen2.5-7B", "PROVE", 26.0, 16.7, 22.8, 21.8),
    row("tau2", "Granite-4.1-8B", "base", 8.0, 49.1, 17.5, 24.9),
    row("tau2", "Granite-4.1-8B", "PROVE", 22.0, 47.4, 24.6, 31.3),
    row("teval", "Qwen3-4B", "base", 95.5, 66.4, 62.8, 87.5, 77.3, 70.8, 76.7),
    row("teval", "Qwen3-4B", "PROVE", 98.5, 68.7, 63.7, 90.6, 78.7, 68.8, 78.2),
    row("teval", "Qwen3-8B", "base", 98.8, 64.7, 64.2, 88.0, 77.8, 79.2, 78.8),
    row("teval", "Qwen3-8B", "PROVE", 94.8, 65.2, 63.0, 92.7, 81.8, 86.5, 80.7),
    row("teval", "Qwen2.5-7B", "base", 73.4, 54.1, 57.7, 79.2, 62.2, 75.0, 66.9),
    row("teval", "Qwen2.5-7B", "PROVE", 81.8, 60.4, 63.1, 88.0, 69.7, 77.1, 73.4),
    row("teval", "Granite-4.1-8B", "base", 93.5, 68.2, 63.4, 87.0, 74.0, 55.2, 73.5),
    row("teval", "Granite-4.1-8B", "PROVE", 94.7, 69.7, 63.7, 91.7, 76.9, 70.8, 77.9),
)

# Overall scores only: supervised fine-tuning on the same data, other teachers, and rewards without a component.
SUPERVISED = {
    "Qwen3-4B": (26.2, 19.6, 74.7),
    "Qwen3-8B": (22.4, 11.5, 76.3),
    "Qwen2.5-7B": (22.5, 15.2, 72.2),
    "Granite-4.1-8B": (29.0, 19.6, 75.2),
}
TEACHER = "teacher Qwen3-32B in place of Gemma-4-31B-it"
TAUGHT = {"Qwen3-4B": (22.6, 29.0, 76.8), "Qwen3-8B": (27.1, 29.7, 79.8)}
ABLATIONS = {
    "no validity": (-5.2, 2.1, -3.4),
    "no coverage": (-2.4, 0.4, -1.5),
    "no efficiency": (-4.0, -0.1, -1.6),
    "no name": (-6.0, -0.8, -2.4),
    "no arguments": (1.6, -4.2, -0.6),
    "flat budget (beta = 0)": (-6.6, -3.1, 0.4),
}

# The training set by kind (section 2); of the irrelevance examples, 806 are from When2Call, 316 from xLAM-irrelevance.
TRAINING_SET = {"chain": 10_895, "missing_function": 1_500, "irrelevance": 1_122}
STEPS = (0, 150, 350)  # of training, at which Figure 4 shows the components


def list_published_rows(benchmark: str) -> tuple[Row, ...]:
    """Return the paper's rows of a benchmark, model by model (base, PROVE, SFT); none for one it does not report."""
    return tuple(one for model in MODELS for one in (*main(benchmark, model), *list_sft_rows(benchmark, model)))


def main(benchmark: str, model: str) -> Iterator[Row]:
    yield from (one for one in MAIN if (one.benchmark, one.model) == (benchmark, model))


def list_sft_rows(benchmark: str, model: str) -> Iterator[Row]:
    if benchmark in COLUMNS:
        yield Row(benchmark, model, "SFT", {OVERALL: SUPERVISED[model][BENCHMARKS.index(benchmark)]})


def variants() -> tuple[Variant, ...]:
    """Return the other teacher and the reward ablations; changes in the paper are added to its full row."""
    taught = (variant(model, TEACHER, scores=dict_of(numbers)) for model, numbers in TAUGHT.items())
    ablated = (variant(ABLATED, what, change=dict_of(numbers)) for what, numbers in ABLATIONS.items())
    return (*taught, *ablated)


def dict_of(numbers: tuple[float, float, float]) -> dict[str, float]:
    return dict(zip(BENCHMARKS, numbers, strict=True))


def variant(
    model: str, what: str, scores: dict[str, float] | None = None, change: dict[str, float] | None = None
) -> Variant:
    full = {one.benchmark: one.overall for one in MAIN if (one.model, one.stage) == (model, "PROVE")}
    scores = scores or {name: round(full[name] + by, 1) for name, by in (change or {}).items()}
    return Variant(
        model, what, scores, change or {name: round(score - full[name], 1) for name, score in scores.items()}
    )


def model_like(name: str) -> str | None:
    """Return the paper's model that a name contains (`Qwen/Qwen3-4B-Instruct-2507` is Qwen3-4B), or None."""
    plain = letters(name)
    return next((model for model in MODELS if letters(model) in plain), None)


def letters(name: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", name.lower())


def table(benchmark: str) -> str:
    """Return the rows of a benchmark as Markdown."""
    columns = (*COLUMNS[benchmark], OVERALL)
    lines = [f"| model | | {' | '.join(columns)} |", "| --- " * (len(columns) + 2) + "|"]
    for one in list_published_rows(benchmark):
        numbers = (f"{one.scores[name]:.1f}" if name in one.scores else "" for name in columns)
        lines.append(f"| {one.model if one.stage == 'base' else ''} | {one.stage} | {' | '.join(numbers)} |")
    return re.sub(r"  +", " ", "\n".join(lines)) + "\n"


def variant_table() -> str:
    """Return the paper's training variants as Markdown: overall scores, and the change to the full recipe."""
    lines = [f"| model | trained with | {' | '.join(BENCHMARKS)} |", "| --- " * (len(BENCHMARKS) + 2) + "|"]
    for one in variants():
        cells = (f"{one.scores[name]:.1f} ({one.change[name]:+.1f})" for name in BENCHMARKS)
        lines.append(f"| {one.model} | {one.what} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print("\n".join((*map(table, BENCHMARKS), variant_table())))
