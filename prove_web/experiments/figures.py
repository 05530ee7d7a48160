"""The figures of a run: what each one says, how it is computed, and what is healthy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from django.db.models import Q

from prove_web.live.templatetags.kit import compact, duration

from .models import Run

WINDOW = 10  # steps at the start and at the end of a run that a change is measured over; at most half of it

Format = Literal["reward", "share", "number", "per second", "seconds"]


@dataclass(frozen=True)
class Figure:
    """One metric as a tile shows it; `better` says which way is good, where one is."""

    metric: str
    title: str
    format: Format
    formula: str
    healthy: str
    better: Literal["more", "less", ""] = ""


REWARD = Figure(
    "reward",
    "Reward",
    "reward",
    "Mean total reward of a step's rollouts: 0.5 validity + 0.5 coverage + 0.15 efficiency + 0.2 name + 0.1 arguments.",
    "Rises and then levels off. At most 1.3, or 1.0 where the right act is to call nothing.",
    "more",
)
HELD_OUT = Figure(
    "held_out",
    "Held-out",
    "reward",
    "Mean total reward of greedy rollouts on worlds that training never opens.",
    "Rises with the training reward. Falling while that one rises is overfitting.",
    "more",
)
STEP_FIGURES = (
    Figure(
        "tool_failures",
        "Tool failures",
        "share",
        "Share of calls that fail a validity level: unknown tool, wrong form, or refused by the server.",
        "Falls towards 0. A rise means that the policy forgets the form of a call.",
        "less",
    ),
    Figure(
        "zero_variance",
        "Zero variance",
        "share",
        "Share of groups whose rollouts all have the same reward: their advantages are 0, so they teach nothing.",
        "Below 60 %. Near 100 % the prompts are too easy or too hard, or the temperature is too low.",
        "less",
    ),
    Figure(
        "entropy",
        "Entropy",
        "number",
        "Mean entropy of the policy's next-token distribution, in nats, over the tokens that were trained on.",
        "Falls slowly. Near 0 early on is a collapse: raise the temperature or lower the learning rate.",
    ),
    Figure(
        "tokens_per_s",
        "Tokens",
        "per second",
        "Tokens of completions, tool results included, divided by the seconds the rollouts took.",
        "Steady. A slow fall means that rollouts get longer or that the machine is shared.",
        "more",
    ),
    Figure("step_s", "Step time", "seconds", "Seconds of one step: rollouts and update.", "Steady.", "less"),
)


@dataclass(frozen=True)
class Tile:
    """A figure now and at the start; both None before the first step."""

    figure: Figure
    now: float | None = None
    start: float | None = None

    @property
    def text(self) -> str:
        return "" if self.now is None else written(self.now, self.figure.format)

    @property
    def start_text(self) -> str:
        return "" if self.start is None else written(self.start, self.figure.format)

    @property
    def change(self) -> float | None:
        return None if self.now is None or self.start is None else self.now - self.start

    @property
    def direction(self) -> str:
        """Up, down or equal, as far as the tile's digits tell."""
        if self.text == self.start_text:
            return "equal"
        return "up" if (self.change or 0) > 0 else "down"

    @property
    def trend(self) -> str:
        """Whether the change is good, bad, or neither."""
        if not self.figure.better or self.direction == "equal":
            return "even"
        return "good" if (self.direction == "up") == (self.figure.better == "more") else "bad"


def written(value: float, how: Format) -> str:
    """`0.973`, `12 %`, `2.1k/s`, `1.3 s`: a figure as short as a tile wants it."""
    match how:
        case "share":
            return f"{100 * value:.1f} %"
        case "per second":
            return f"{compact(value)}/s"
        case "seconds":
            return f"{value:.1f} s" if value < 60 else duration(value)
    return f"{value:.3f}"


def tiles(run: Run, headline: Figure = REWARD, others: tuple[Figure, ...] = STEP_FIGURES) -> list[Tile]:
    """The figures as they stand: means over the newest steps, against as many first ones; held-out reward second."""
    points = run.points.all()
    last = points.order_by("-step").values_list("step", flat=True).first() or 0
    window = min(WINDOW, max(1, last // 2))
    ends = list(points.filter(Q(step__lte=window) | Q(step__gt=last - window)).values_list("step", "metrics"))
    start = [metrics for step, metrics in ends if step <= window]
    newest = [metrics for step, metrics in ends if step > last - window]
    first, *rest = [
        Tile(figure, mean_of(figure.metric, newest), mean_of(figure.metric, start)) for figure in (headline, *others)
    ]
    curve = list(run.held_out.values_list("metrics__reward", flat=True)) or [None]
    return [first, Tile(HELD_OUT, curve[-1], curve[0]), *rest]


def mean_of(metric: str, lines: list[dict[str, float]]) -> float | None:
    values = [line[metric] for line in lines if line.get(metric) is not None]
    return sum(values) / len(values) if values else None


@dataclass(frozen=True)
class Chart:
    """One chart of the run page: its lines are metrics of the steps, or of the held-out measurements."""

    title: str
    help: str
    lines: tuple[tuple[str, str], ...]  # name of the line, metric
    unit: str = ""
    source: Literal["points", "held_out"] = "points"
    wide: bool = False


BY_METRIC = {figure.metric: figure for figure in STEP_FIGURES}


def explained(figure: Figure) -> str:
    return f"{figure.formula} {figure.healthy}"


CHARTS = (
    Chart("Reward", explained(REWARD), (("Reward", "reward"),), wide=True),
    Chart(
        "Components",
        "Means over the rollouts that were to call tools, before they are weighed; each is at most 1. The fifth, "
        "efficiency, has a chart of its own.",
        (("Validity", "validity"), ("Coverage", "coverage"), ("Name", "name"), ("Arguments", "arguments")),
        wide=True,
    ),
    Chart("Held-out reward", explained(HELD_OUT), (("Greedy", "reward"),), source="held_out"),
    Chart("Tool failures", explained(BY_METRIC["tool_failures"]), (("Failed calls", "tool_failures"),), "share"),
    Chart(
        "Zero variance", explained(BY_METRIC["zero_variance"]), (("Groups without signal", "zero_variance"),), "share"
    ),
    Chart("Entropy", explained(BY_METRIC["entropy"]), (("Entropy", "entropy"),), "nats"),
    Chart(
        "Efficiency",
        "Mean of the fifth component: 0 within the budget of calls, negative beyond it. Close to 0; a fall means that "
        "the policy calls more than the task needs.",
        (("Efficiency", "efficiency"),),
    ),
    Chart(
        "Lengths",
        "Mean tokens of a rollout: those the policy wrote, and all with the tools' results. Steady, or as long as the "
        "task asks; a steady climb towards the limit is rambling.",
        (("Written", "model_tokens"), ("With results", "completion_tokens")),
        "tokens",
    ),
    Chart("Throughput", explained(BY_METRIC["tokens_per_s"]), (("Tokens", "tokens_per_s"),), "tokens/s"),
    Chart(
        "Step time",
        explained(BY_METRIC["step_s"]),
        (("Step", "step_s"), ("Rollouts", "rollout_s"), ("Update", "update_s")),
        "s",
    ),
    Chart(
        "Gradient norm",
        "Norm of the gradient before it is clipped, in the update of a step. Spikes move the policy far; "
        "steady growth means that the learning rate is too high.",
        (("Gradient norm", "grad_norm"),),
    ),
)
