"""Columns of the runs table: properties of a run, settings, and metrics in several forms.

Columns and searches use the same short names: `dataset`, `learning_rate`, `reward-best`, `kl-mean-20`,
`held_out_success`, and `config.optimizer` for external runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Expression, F

from prove_web.accounts.models import Project
from training_worker.monitoring.metrics import BY_NAME, Metric

from ..metric_stats import NEWEST
from ..models import HELD_OUT, POINTS, MetricSummary
from ..querysets import (
    baseline,
    dataset_called,
    select_metric_summary,
    select_run_duration,
    select_sampled_value,
    steps,
)
from . import external_columns as outside
from .external_columns import ExternalSetting
from .settings import SETTINGS, Setting

MOST = 24  # columns of a table
USUAL = ("state", "dataset", "steps", "reward", "gain", "by", "when", "took")
MEASURED = "held_out"  # prefix of held-out metrics
OWN = {"held_out": "reward"} | {
    f"held_out_{name}": name for name in ("success", "goal_success", "act_accuracy", "state")
}
FORMS = {
    "now": "current",
    "last": "last",
    "best": "best",
    "least": "min",
    "most": "max",
    "first": "first",
    **{f"mean-{count}": f"mean of {count}" for count in NEWEST},
}


@dataclass(frozen=True)
class RunProperty:
    """A property of every run, read from a field of its row."""

    key: str
    title: str
    field: str
    numeric: bool = False
    help: str = ""
    kind = "known"
    group = "Run"

    @property
    def value(self) -> Expression:
        found = {"steps": steps, "took": select_run_duration, "gain": lambda: select_sampled_value("difference")}
        found |= {"base": baseline, "dataset": dataset_called}
        return found[self.key]() if self.key in found else F(self.field)


@dataclass(frozen=True)
class Measure:
    """A metric in one form, such as its best value; the metric defines which direction is better."""

    name: str
    source: str
    form: str = "now"
    numeric = True
    kind = "metric"

    @property
    def public(self) -> str:
        return self.name if self.source == POINTS else public_name(self.name)

    @property
    def metric(self) -> Metric | None:
        own = {of: name for name, of in OWN.items()}
        return BY_NAME.get(own.get(self.name, self.name) if self.source == HELD_OUT else self.name)

    @property
    def key(self) -> str:
        bare = self.form == "now" and self.public not in SETTINGS and self.public not in KNOWN
        return self.public if bare else f"{self.public}-{self.form}"

    @property
    def called(self) -> str:
        metric = self.metric
        title = metric.title if metric else self.name
        return title if self.source == POINTS or self.name in OWN.values() else f"Held-out {title.lower()}"

    @property
    def title(self) -> str:
        return self.called if self.form == "now" else f"{self.called}, {FORMS[self.form]}"

    @property
    def group(self) -> str:
        if self.source == HELD_OUT:
            return "Held-out"
        return self.metric.group if self.metric else "Other"

    @property
    def help(self) -> str:
        return self.metric.formula if self.metric else "Custom metric of the run."

    @property
    def field(self) -> str:
        """Return the field of MetricSummary with this form."""
        if self.form == "best":
            return "least" if self.metric and self.metric.better == "less" else "most"
        return self.form.replace("-", "_")

    @property
    def forms(self) -> dict[str, str]:
        """Return the available forms with their titles; there is no "best" without a better direction."""
        better = self.metric is not None and self.metric.better
        many = self.source == POINTS
        return {
            form: title
            for form, title in FORMS.items()
            if (form != "best" or better) and (many or not form.startswith("mean-"))
        }

    @property
    def value(self) -> Expression:
        return select_metric_summary(self.name, self.field, self.source)


Column = RunProperty | Measure | Setting | ExternalSetting
KNOWN = {
    one.key: one
    for one in (
        RunProperty("number", "Number", "number", numeric=True),
        RunProperty("name", "Name", "name"),
        RunProperty("state", "State", "job__state"),
        RunProperty("kind", "Kind", "kind"),
        RunProperty("dataset", "Dataset", "dataset__called"),
        RunProperty("sweep", "Sweep", "sweep__number"),
        RunProperty("base", "Baseline", "against__number", help="The run it is compared with."),
        RunProperty("steps", "Steps", "", numeric=True),
        RunProperty(
            "gain",
            "Held-out gain",
            "",
            numeric=True,
            help="Mean paired difference on held-out worlds after training, with its 95 % interval.",
        ),
        RunProperty("by", "Created by", "job__created_by__username"),
        RunProperty("when", "Created", "created_at"),
        RunProperty("took", "Duration", ""),
    )
}
FIRST = ("number", "name")  # both are in the first column of every table


def public_name(measured: str) -> str:
    own = {of: name for name, of in OWN.items()}
    return own.get(measured, f"{MEASURED}_{measured}")


def column(key: str) -> Column | None:
    """Return the column of that name; any valid metric name is a column, even if no run has the metric."""
    if key in KNOWN or key in SETTINGS:
        return KNOWN.get(key) or SETTINGS[key]
    if found := outside.parse_external_key(key):
        return found
    name, form = split_metric_key(key)
    if not name or len(name) > 80 or "," in name or not name.isprintable():
        return None
    measured = OWN.get(name) or name.removeprefix(f"{MEASURED}_")
    metric = Measure(measured, HELD_OUT, form) if held_out(name) else Measure(name, POINTS, form)
    return metric if form in metric.forms else None


def held_out(name: str) -> bool:
    return name in OWN or name.startswith(f"{MEASURED}_")


def split_metric_key(key: str) -> tuple[str, str]:
    """Split a metric key into name and form: `reward-mean-20` gives `reward` and `mean-20`."""
    for form in FORMS:
        if key.endswith(f"-{form}"):
            return key.removesuffix(f"-{form}"), form
    return key, "now"


def read(text: str) -> list[Column]:
    """Return the named columns, without unknown ones and repeats."""
    found = {one.key: one for key in text.split(",")[: 2 * MOST] if (one := column(key.strip()))}
    return [one for key, one in found.items() if key not in FIRST][:MOST]


def join_column_keys(columns: Iterable[Column]) -> str:
    return ",".join(one.key for one in columns)


def list_default_columns() -> list[Column]:
    return read(",".join(USUAL))


def list_measures(project: Project) -> list[Measure]:
    """Return all metrics of a project's runs: built-in ones in their order, then others by name."""
    rows = MetricSummary.objects.filter(run__project=project).order_by().values_list("source", "name").distinct()
    order = {name: place for place, name in enumerate(BY_NAME)}
    found = [Measure(name, source) for source, name in rows if "," not in name]
    return sorted(found, key=lambda one: (one.source != POINTS, order.get(one.name, len(order)), one.name))


def list_column_groups(project: Project) -> list[tuple[str, Sequence[Column]]]:
    """Return all available columns by group; each metric once, in its current form."""
    groups: dict[str, list[Column]] = {"Run": [one for key, one in KNOWN.items() if key not in FIRST]}
    for one in (*list_measures(project), *SETTINGS.values(), *outside.list_external_columns(project)):
        groups.setdefault(one.group, []).append(one)
    return list(groups.items())
