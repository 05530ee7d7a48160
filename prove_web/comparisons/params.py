"""Query parameters of a comparison: the runs and their order, the baseline, and the chart options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.db.models.fields.json import KeyTransform
from django.http import QueryDict

from prove_web.accounts.models import Project
from prove_web.experiments.charts import CHARTS, MOST_COMPARED, Chart, charts_of
from prove_web.experiments.models import Run
from prove_web.experiments.querysets import select_sampled_value

from .aggregate import KINDS

MOST_METRICS = 8
TOO_LARGE = 1 << 31  # out of range for a database integer
AXES = {"step": "Step", "tokens": "Tokens", "time": "Time"}
HELD_OUT = "held_out."  # prefix of held-out evaluation metrics
USUAL = ("reward", f"{HELD_OUT}reward", "success", "goal_success", "tool_failures")
BANDS = {**KINDS, "": "None"}
# dataset manifest keys that record how the dataset was made
MADE = {
    "content": "Dataset content",
    "servers": "Server code",
    "schemas": "Tool schemas",
    "code": "Synthesis code",
    "teacher": "Teacher",
    "recipe": "Dataset recipe",
}


class TooMany(ValueError):
    """Error for more runs than a comparison can show; says what to do."""


@dataclass(frozen=True)
class ComparisonParams:
    """The parsed parameters; `missing` are run numbers that do not exist in the project.

    Without `grouped`, each run is a line; with it, runs that differ only by seed form one line with a band of this
    kind.
    """

    runs: tuple[Run, ...] = ()
    base: Run | None = None
    missing: tuple[int, ...] = ()
    metrics: tuple[str, ...] = USUAL
    axis: str = "step"
    grouped: bool = False
    band: str = "sd"
    all: bool = False

    @property
    def others(self) -> tuple[Run, ...]:
        """Return all runs except the baseline."""
        return tuple(run for run in self.runs if run != self.base)

    @property
    def address(self) -> str:
        """Return the equivalent query string, without default values."""
        pairs = [("run", str(run.number)) for run in self.runs]
        pairs += [("base", str(self.base.number))] if self.base and self.base != declared_base(self.runs) else []
        pairs += [("metric", name) for name in self.metrics] if self.metrics != USUAL else []
        pairs += [("axis", self.axis)] if self.axis != "step" else []
        pairs += [("group", "seed")] if self.grouped else []
        pairs += [("band", self.band or "none")] if self.band != "sd" else []
        pairs += [("all", "1")] if self.all else []
        return urlencode(pairs)

    @property
    def more(self) -> str:
        """Return the query string that shows all settings."""
        return replace(self, all=True).address

    @property
    def fewer(self) -> str:
        """Return the query string that shows only differing settings."""
        return replace(self, all=False).address

    def remove_run(self, run: Run) -> ComparisonParams:
        runs = tuple(one for one in self.runs if one != run)
        return replace(self, runs=runs, base=self.base if self.base != run else declared_base(runs))

    def move(self, run: Run, by: int) -> ComparisonParams:
        """Return the comparison with a run moved by `by` positions; the baseline stays the same."""
        runs = [one for one in self.runs if one != run]
        runs.insert(max(0, self.runs.index(run) + by), run)
        return replace(self, runs=tuple(runs))

    def replace_baseline(self, run: Run) -> ComparisonParams:
        return replace(self, base=run)


def parse_comparison_params(project: Project, query: QueryDict) -> ComparisonParams:
    """Parse the parameters and ignore invalid ones; one query. Raises TooMany."""
    numbers = list(dict.fromkeys(int(text) for text in query.getlist("run") if text.isdecimal() and len(text) < 100))
    if len(numbers) > MOST_COMPARED:
        raise TooMany(
            f"{len(numbers)} runs are selected; at most {MOST_COMPARED} can be compared. "
            f"Remove {len(numbers) - MOST_COMPARED} of them, or group a sweep's runs on its own page."
        )
    found = {run.number: run for run in load_runs(project, [number for number in numbers if number < TOO_LARGE])}
    runs = tuple(found[number] for number in numbers if number in found)
    base = query.get("base", "")
    metrics = tuple(dict.fromkeys(name for name in query.getlist("metric") if name in list_chart_metrics(runs)))[
        :MOST_METRICS
    ]
    band = query.get("band", "sd")
    return ComparisonParams(
        runs=runs,
        base=next((run for run in runs if str(run.number) == base), declared_base(runs)),
        missing=tuple(number for number in numbers if number not in found),
        metrics=metrics or USUAL,
        axis=query.get("axis", "") if query.get("axis") in AXES else "step",
        grouped=query.get("group") == "seed",
        band="" if band == "none" else band if band in KINDS else "sd",
        all=query.get("all") == "1",
    )


def declared_base(runs: Sequence[Run]) -> Run | None:
    """Return the run that most of the others declare as their baseline, else a pinned one, else the first."""
    declared = Counter(run.base_id for run in runs if run.base_id != run.pk)
    return max(runs, key=lambda run: (declared[run.pk], run.pinned), default=None)


def load_runs(project: Project, numbers: Sequence[int]) -> Sequence[Run]:
    """Load these runs with the annotations of a comparison.

    Only the needed keys of the job's large result are read.
    """
    found = Run.objects.filter(project=project, number__in=numbers, deleted_at=None)
    manifest = KeyTransform("manifest", "dataset__job__result")
    return list(
        found.select_related("job", "dataset", "project__organisation")
        .defer("job__spec", "job__result", "notes")
        .annotate(
            **{
                f"held_{name}": select_sampled_value(name)
                for name in ("before", "after", "difference", "low", "high", "examples")
            },
            lines_after=KeyTransform("after", "job__result"),
            **{f"made_{name}": KeyTransform(name, manifest) for name in MADE},
        )
    )


def name_of(chart: Chart, metric: str) -> str:
    """Return the query-parameter name of a chart's metric."""
    return (HELD_OUT if chart.source == "held_out" else "") + metric


def charts(runs: Sequence[Run]) -> list[Chart]:
    """Return the charts of all runs, followed by those that only some of them have."""
    return list(dict.fromkeys((*CHARTS, *(chart for run in runs for chart in charts_of(run)))))


def list_chart_metrics(runs: Sequence[Run]) -> dict[str, tuple[Chart, str]]:
    """Return every metric that a chart of the runs draws, by query-parameter name, with its chart and line title."""
    return {name_of(chart, metric): (chart, title) for chart in charts(runs) for title, metric in chart.lines}
