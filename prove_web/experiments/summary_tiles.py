"""Summary tiles of a run: current value and change since the start of each metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from django.db.models import Q, QuerySet

from prove_web.live.templatetags.kit import MINUS, compact, duration
from training_worker.monitoring.metrics import BY_NAME, Metric, Unit

from .baseline import Baseline, Metrics, baseline
from .chance import Difference, Tone, of_means
from .charts import CHARTS, get_metric
from .metric_series import number
from .models import Run
from .reward_scale import SCORED, same_reward

__all__ = ["CHARTS", "WINDOW", "Tile", "format_metric_value", "tiles"]

WINDOW = 10  # steps at the start and end over which a change is measured; at most half of the run
FIRST = "reward"
Values = Sequence[float]
MOST_LOOKED = 5_000  # newest steps searched for the first consecutive non-finite value
MOST_OWN = 6  # tiles of custom metrics of an external run
SUPERVISED = ("loss", "token_accuracy")  # leading tiles where there is no reward
TILES = (
    *("reward", "held_out", "success", "goal_success", "act_accuracy"),
    *("validity", "coverage", "efficiency", "name", "arguments", "tool_failures"),
    *("zero_variance", "entropy", "kl", "clipped", "completion_tokens", "truncated", "tokens_per_s", "step_s"),
)


@dataclass(frozen=True)
class Tile:
    """A metric now and at the start; both None before the first step.

    `base` is the baseline's value at the newest step that both runs have, and `then` this run's value there. `moved` is
    the change since the start and `against` the difference from the baseline, each with its interval where there are
    enough steps; a difference whose interval includes 0 is not coloured. If the newest value is non-finite, `odd` is
    NaN or Infinity and `since` the first step of the non-finite sequence.
    """

    metric: Metric
    now: float | None = None
    start: float | None = None
    then: float | None = None
    base: float | None = None
    odd: str = ""
    since: int = 0
    moved: Difference | None = None
    against: Difference | None = None

    @property
    def text(self) -> str:
        return self.odd if self.odd else "" if self.now is None else format_metric_value(self.now, self.metric.unit)

    @property
    def has_data(self) -> bool:
        return self.now is not None or bool(self.odd)

    @property
    def start_text(self) -> str:
        return "" if self.start is None else format_metric_value(self.start, self.metric.unit)

    @property
    def change(self) -> float | None:
        return None if self.now is None or self.start is None else self.now - self.start

    @property
    def signed(self) -> bool:
        """Return whether the change is shown as a number, as for rewards; for others the start value is shown."""
        return self.metric.unit in ("reward", "score")

    @property
    def direction(self) -> str:
        """Return up, down or equal, at the precision of the tile."""
        if self.odd or self.text == self.start_text:
            return "equal"
        return "up" if (self.change or 0) > 0 else "down"

    @property
    def trend(self) -> str:
        """Return whether the change is good, bad or inconclusive."""
        return self.tone_of(self.moved, self.direction == "equal")

    @property
    def base_text(self) -> str:
        return "" if self.base is None or self.then is None else format_metric_value(self.base, self.metric.unit)

    @property
    def ahead(self) -> float:
        """Return the difference from the baseline's value at the same step."""
        return (self.then or 0.0) - (self.base or 0.0)

    @property
    def baseline_tone(self) -> str:
        """Return whether the difference from the baseline is good, bad or inconclusive."""
        same = not self.base_text or format_metric_value(self.then or 0.0, self.metric.unit) == self.base_text
        return self.tone_of(self.against, same)

    def tone_of(self, difference: Difference | None, same: bool) -> Tone:
        """Return the tone of a difference; `same` says that the shown digits are equal."""
        return "even" if same or difference is None else difference.tone(self.metric.better)


def format_metric_value(value: float, unit: Unit) -> str:
    """Format a value compactly: `0.973`, `12 %`, `2.1k/s`, `1.3 s`."""
    match unit:
        case "share":
            return f"{100 * value:.1f} %"
        case "tokens/s":
            return f"{compact(value)}/s"
        case "tokens" | "groups" | "MB":
            return compact(value)
        case "s":
            return f"{value:.1f} s" if value < 60 else duration(value)
    return f"{round(value, 3) + 0.0:.3f}".replace("-", MINUS)  # no minus sign before zero


def tiles(run: Run, base: Run | None = None) -> list[Tile]:
    """Return the tiles of the logged metrics: means over the newest steps against as many first ones."""
    return figures(run, base)[0]


def figures(run: Run, base: Run | None) -> tuple[list[Tile], Baseline | None]:
    """Return the tiles, and the comparison with the baseline."""
    points = run.points.all()
    last = points.order_by("-step").values_list("step", flat=True).first() or 0
    window = min(WINDOW, max(1, last // 2))
    ends = list(points.filter(Q(step__lte=window) | Q(step__gt=last - window)).values_list("step", "metrics"))
    broken = broken_now(run.points.all())
    start = [metrics for step, metrics in ends if step <= window]
    newest = [metrics for step, metrics in ends if step > last - window]
    own = run.own.get("points", [])[:MOST_OWN]
    against = baseline(run, base, last, window)
    apart = SCORED if not same_reward(run, base) else set()

    def get_comparable_values(name: str) -> tuple[Metrics, Metrics]:
        """Return the values of both runs if the metric is comparable between them."""
        return (against.ours, against.theirs) if against and name not in apart else ((), ())

    found = {
        name: mark_broken(
            tile(name, *(values_of(name, lines) for lines in (newest, start, *get_comparable_values(name)))),
            broken.get(name),
        )
        for name in (*SUPERVISED, *TILES, *own)
    }
    rewards = run.held_out.values_list("metrics__reward", flat=True)
    curve = [value if number(value) else None for value in rewards] or [None]
    measured = Tile(BY_NAME["held_out"], curve[-1], curve[0], *((against and against.held_out) or (None, None)))
    found["held_out"] = mark_broken(measured, broken_now(run.held_out.all()).get("reward"))
    lead = () if found[FIRST].has_data else SUPERVISED
    return [found[name] for name in (*lead, *TILES, *own) if found[name].has_data], against


def mark_broken(tile: Tile, broken: tuple[str, int] | None) -> Tile:
    return replace(tile, odd=broken[0], since=broken[1]) if broken else tile


def broken_now(table: QuerySet) -> dict[str, tuple[str, int]]:
    """Return metrics whose newest value is non-finite: the value's name, and the first step of that sequence.

    Only the newest MOST_LOOKED steps are searched.
    """
    latest = table.filter(odd__isnull=False).order_by("-step").values_list("step", flat=True).first()
    if latest is None:
        return {}
    newest = table.order_by("-step").values_list("step", flat=True)[0]
    if latest <= newest - WINDOW:
        return {}
    found: dict[str, tuple[str, int]] = {}
    over: set[str] = set()
    for step, metrics, odd in table.order_by("-step").values_list("step", "metrics", "odd")[:MOST_LOOKED].iterator():
        over |= {name for name, value in metrics.items() if value is not None}
        fresh = {name: word for name, word in (odd or {}).items() if name not in over}
        found |= {name: (found[name][0] if name in found else word, step) for name, word in fresh.items()}
        if step <= newest - WINDOW and found.keys() <= over:
            break
    return found


def tile(name: str, newest: Values, start: Values, ours: Values, theirs: Values) -> Tile:
    now, first, then, base = (fmean(values) if values else None for values in (newest, start, ours, theirs))
    moved, against = of_means(start, newest), of_means(theirs, ours)
    return Tile(get_metric(name), now, first, then, base, moved=moved, against=against)


def values_of(metric: str, lines: Sequence[dict[str, float]]) -> Values:
    return [line[metric] for line in lines if number(line.get(metric))]
