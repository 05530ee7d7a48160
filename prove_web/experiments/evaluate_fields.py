"""Launch form fields that select the benchmarks to evaluate a run on after training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings

from training_worker.evaluation.registry import KNOWN

from .defaults import EVALUATE
from .form_fields import yes_or_no
from .models import Run

NAMES = tuple(EVALUATE)
PREFIX = "benchmark_"


class EvaluateFields(forms.Form):
    benchmark_limit = forms.IntegerField(
        label="Items per category",
        min_value=1,
        max_value=100_000,
        initial="",
        required=False,
        widget=forms.NumberInput(attrs={"step": 1, "inputmode": "numeric"}),
        help_text="First items per category of each benchmark; empty means all.",
    )


for one in KNOWN.values():
    EvaluateFields.base_fields[PREFIX + one.name] = yes_or_no(
        one.title, PREFIX + one.name, "Evaluates the best checkpoint by held-out reward and the last one."
    )


def list_selected_benchmarks(given: Mapping[str, Any]) -> list[str]:
    """Return the selected benchmarks."""
    return [one.name for one in KNOWN.values() if given.get(PREFIX + one.name)]


def load_benchmark_settings(run: Run) -> dict[str, Any]:
    """Return the benchmark settings of an existing run by field name."""
    after = [one.job.spec for one in run.evaluations.filter(job__after=run.job).select_related("job")]
    limit = next((spec["limit"] for spec in after if "limit" in spec), "")
    return {**{PREFIX + spec["benchmark"]: "yes" for spec in after}, "benchmark_limit": limit}


def faults(given: Mapping[str, Any]) -> dict[str, str]:
    """Return by field the benchmarks that are not available here."""
    root = Path(settings.PROVE_DATA) / "benchmarks"
    return {
        PREFIX + name: reason
        for name in list_selected_benchmarks(given)
        if (reason := KNOWN[name].describe_missing_requirement(root))
    }
