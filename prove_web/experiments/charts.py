"""The charts of a run's page: the metrics of each chart, their groups and their help texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from training_worker.monitoring.metrics import BY_NAME, TERMS, Group, Metric, in_words

from .models import Run

Source = Literal["points", "held_out"]
YOURS = "Yours"  # group of the metrics that an external run's own program logs
MOST_COMPARED = 20  # runs in one comparison
MEASURED = {"reward": "held_out"} | {  # the metric whose description explains each held-out metric
    name: f"held_out_{name}" for name in ("success", "goal_success", "act_accuracy", "state")
}


@dataclass(frozen=True)
class Chart:
    """One chart. Its lines are metrics of the steps or of the held-out evaluations, all in one unit."""

    title: str
    group: str
    lines: tuple[tuple[str, str], ...]  # name of the line, metric
    source: Source = "points"
    wide: bool = False

    @property
    def metrics(self) -> list[Metric]:
        names = [name for _, name in self.lines]
        return [get_metric(MEASURED.get(name, name) if self.source == "held_out" else name) for name in names]

    @property
    def unit(self) -> str:
        """Return the unit of the y-axis; empty for metrics around 0 to 1, where a unit adds nothing."""
        unit = self.metrics[0].unit
        return "" if unit in ("reward", "score") else in_words(unit)

    @property
    def help(self) -> list[str]:
        """Return a description of each line and of its healthy range."""
        names = [f"{name}: " if len(self.lines) > 1 else "" for name, _ in self.lines]
        return [
            f"{name}{metric.formula}" + (f" Healthy: {metric.healthy}" if metric.healthy else "")
            for name, metric in zip(names, self.metrics, strict=True)
        ]

    @property
    def spec(self) -> dict[str, Any]:
        """Return the chart specification for the browser."""
        return {**vars(self), "unit": self.unit, "help": self.help}

    def has_data(self, names: dict[Source, set[str]]) -> bool:
        """Return whether any of the chart's metrics is among `names`."""
        return any(name in names[self.source] for _, name in self.lines)


def get_metric(metric: str) -> Metric:
    """Return the definition of a metric; a metric known only to the training program gets its name as title."""
    text = "Logged by the training program under this name."
    return BY_NAME.get(metric) or Metric(metric, metric, "Policy", "number", text, "")


def build_metric_lines(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((BY_NAME[name].title, name) for name in names)


def build_metric_chart(name: str) -> Chart:
    """Return a chart of one metric under the metric's own title."""
    return Chart(BY_NAME[name].title, BY_NAME[name].group, build_metric_lines(name))


TERM_LINES = tuple((term.title, term.name) for term in TERMS)
PARTS = build_metric_lines("validity", "coverage", "name", "arguments")
ENDS = build_metric_lines("end_answered", "end_assistant_turns", "end_calls", "end_tokens", "end_infrastructure")
BOUNDARIES = build_metric_lines("failed_policy", "failed_environment", "failed_infrastructure")
LENGTHS = (("Prompt", "prompt"), ("Generated", "model"), ("Completion", "completion"))
COST = (("Rollouts", "rollout_s"), ("Zero-variance groups", "dead_s"), ("Replaced", "wasted_s"))
SPLIT = (("Step", "step_s"), *build_metric_lines("generation_s", "environment_s", "reward_s", "update_s"))
RATES = (("Completions", "tokens_per_s"), ("Generated", "generated_per_s"), ("All", "total_per_s"))

CHARTS = (
    Chart("Reward", "Reward", build_metric_lines("reward"), wide=True),
    Chart("Held-out reward", "Reward", (("Greedy", "reward"),), "held_out", wide=True),
    Chart("Success rate", "Reward", (("Success", "success"), ("Goal success", "goal_success"))),
    Chart(
        "Held-out success",
        "Reward",
        (("Success", "success"), ("Goal success", "goal_success"), ("Final state", "state")),
        "held_out",
    ),
    build_metric_chart("act_accuracy"),
    Chart("Held-out act accuracy", "Reward", (("Greedy", "act_accuracy"),), "held_out"),
    Chart("Reward: call vs abstain", "Reward", (("Call", "graded"), ("Abstain", "abstention"))),
    Chart("Max/min reward", "Reward", build_metric_lines("reward_max", "reward_min")),
    Chart("Reward std", "Reward", (("Within groups", "reward_std"), ("All rollouts", "reward_deviation"))),
    Chart("Zero-variance groups", "Reward", (("Groups", "zero_variance"), ("Tokens", "dead_tokens"))),
    Chart("Components", "Components", PARTS),
    build_metric_chart("efficiency"),
    Chart("Reward terms", "Components", TERM_LINES, wide=True),
    Chart("Held-out components", "Components", PARTS, "held_out"),
    Chart("Held-out terms", "Components", TERM_LINES, "held_out", wide=True),
    build_metric_chart("loss"),
    build_metric_chart("token_accuracy"),
    build_metric_chart("entropy"),
    build_metric_chart("kl"),
    Chart("Clipped", "Policy", (("Low", "clipped_low"), ("High", "clipped_high"), ("Either", "clipped"))),
    build_metric_chart("grad_norm"),
    build_metric_chart("learning_rate"),
    build_metric_chart("epoch"),
    Chart("Failed calls", "Rollouts", build_metric_lines("tool_failures", "malformed")),
    Chart("Calls per rollout", "Rollouts", build_metric_lines("calls")),
    Chart("Excluded groups", "Rollouts", (("Invalid", "invalid_groups"), ("Zero variance", "dropped_groups"))),
    Chart("Replaced rollouts", "Rollouts", build_metric_lines("wasted_rollouts")),
    Chart(
        "Examples by difficulty", "Rollouts", build_metric_lines("easy_examples", "middle_examples", "hard_examples")
    ),
    Chart("Finish reason", "Rollouts", ENDS, wide=True),
    Chart("Failure source", "Rollouts", BOUNDARIES, wide=True),
    Chart("Mean lengths", "Lengths", tuple((title, f"{name}_tokens") for title, name in LENGTHS)),
    Chart("Max lengths", "Lengths", tuple((title, f"{name}_tokens_max") for title, name in LENGTHS)),
    Chart("Truncated", "Lengths", build_metric_lines("truncated")),
    Chart("Step time", "Time", SPLIT, wide=True),
    Chart("Throughput", "Time", RATES, wide=True),
    Chart("Environment and scoring", "Time", (("Share of step", "environment_share"),), wide=True),
    Chart("Cost of zero-variance groups", "Time", COST, wide=True),
    build_metric_chart("cpu_process"),
    Chart("Load", "Machine", (("CPU", "cpu_machine"), ("Memory", "memory_machine"), ("GPU", "gpu_load"))),
    Chart("Memory", "Machine", (("Run", "memory"), ("GPU", "gpu_memory"), ("GPU, peak", "gpu_memory_peak"))),
)


def list_charted_metrics(source: str, run: Run | None = None) -> list[str]:
    """Return the metrics of one source that appear in any chart, of all runs or of `run`."""
    charts = charts_of(run) if run else CHARTS
    return list(dict.fromkeys(name for chart in charts if chart.source == source for _, name in chart.lines))


def charts_of(run: Run) -> tuple[Chart, ...]:
    """Return all charts of a run: the common ones, and one for each metric that only its program logs."""
    titles: dict[Source, str] = {"points": "{}", "held_out": "Held-out {}"}
    own = [
        Chart(title.format(name), YOURS, ((name, name),), source)
        for source, title in titles.items()
        for name in run.own.get(source, [])
    ]
    return (*CHARTS, *own)


def group_charts(run: Run) -> list[tuple[str, list[tuple[int, Chart, bool]]]]:
    """Return by group the charts with their numbers, and whether the first and newest points have data for them."""
    found, charts = load_metric_names(run), charts_of(run)
    return [
        (group, [(number, chart, chart.has_data(found)) for number, chart in enumerate(charts) if chart.group == group])
        for group in (*get_args(Group), *([YOURS] if run.own else []))
    ]


def load_metric_names(run: Run) -> dict[Source, set[str]]:
    """Return the metrics of the first and newest point of each source, and all metrics only the run's program logs."""
    curves: dict[Source, Any] = {"points": run.points.all(), "held_out": run.held_out.all()}
    return {
        source: {
            name
            for way in ("step", "-step")
            for name in table.order_by(way).values_list("metrics", flat=True).first() or ()
        }
        | {*run.own.get(source, ())}
        for source, table in curves.items()
    }
