"""The reward replay page, and saving a reward under a name."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from prove_web.accounts.models import Project
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.review.blinding import Blind
from training_worker.core.trajectory import UnreadableData
from training_worker.environment.episode import StaleExample
from training_worker.environment.reward_replay import UnknownExample
from training_worker.reward import PRESETS, BadReward, RewardConfig, read_reward

from ..models import SavedReward
from ..reward_config import describe_reward, short
from ..reward_fields import RewardFields
from ..reward_scale import format_weight
from ..rollouts import NoRollouts
from ..saved_rewards import save
from .comparison import Bin, RewardComparison, compare_rewards
from .lot import Floats, Lot, Row
from .of_run import RunSource
from .params import MOST, MOST_COMPLETE, WhatIfParams, datasets, parse_params, runs, validate_reward_limits
from .source import Place

# Layout of the two histograms in a box of WIDTH by HEIGHT.

WIDTH, HEIGHT = 520, 160
WIDE, NARROW = 0.9, 0.5  # widths of the before and after bars, as shares of a bin


@dataclass(frozen=True)
class Bar:
    """A bar: its corner and size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Column:
    bin: Bin
    before: Bar
    after: Bar


def columns(bins: Sequence[Bin]) -> list[Column]:
    """Lay out both histograms on the same scale."""
    most = max(max(one.before, one.after) for one in bins)
    place = WIDTH / len(bins)

    def bar(at: int, count: int, share: float) -> Bar:
        height = HEIGHT * count / most
        left = place * at + place * (1 - share) / 2
        return Bar(round(left, 1), round(HEIGHT - height, 1), round(place * share, 1), round(height, 1))

    return [Column(one, bar(at, one.before, WIDE), bar(at, one.after, NARROW)) for at, one in enumerate(bins)]


AT_ONCE = 200  # complete rollouts scored per request
LISTED = 20  # contradicted labels
SLIDERS = {  # maximum of each slider; a typed number may be larger
    **dict.fromkeys(("validity", "coverage", "efficiency", "name", "arguments", "alpha", "beta"), 2),
    **dict.fromkeys(("tau", "tau_end", "final_state", "provenance", "repeats"), 1),
}


@dataclass(frozen=True)
class Field:
    """One number of a configuration on the page."""

    name: str
    label: str
    help: str
    value: str
    own: str
    most: float
    slider: int


@dataclass(frozen=True)
class Answer:
    """The result: the comparison, the number of rollouts used and available, and the duration; or `why` there is none.

    For slow reward forms, `left` rollouts are not scored yet, which takes about `seconds_left`; `total` includes them.
    """

    compared: RewardComparison | None = None
    looked: int = 0
    all: int = 0
    without: int = 0
    stale: int = 0
    seconds: float = 0.0
    why: str = ""
    left: int = 0
    seconds_left: float | None = None

    @property
    def total(self) -> int:
        return self.looked + self.left

    @property
    def share(self) -> float:
        return self.looked / self.total if self.total else 1.0


@in_project(Action.VIEW)
@require_safe
def what_if(request: ProjectRequest) -> HttpResponse:
    """Show the page: `?of=run-3` (with `first=`, `last=` steps) or `?of=dataset-2`, and every changed weight.

    For slow reward forms each request scores some rollouts and the page requests the rest, unless `stop` is set.
    """
    want = parse_params(request.project, request.GET.dict())
    blind = Blind(request.user, request.project)
    result = answer(want, blind) if want.source and not want.fault else Answer(why=want.fault)
    context: dict[str, Any] = {
        "params": want,
        "runs": runs(request.project),
        "datasets": datasets(request.project),
        "fields": fields(want),
        "forms": RewardFields.base_fields["reward_form"].choices,
        "presets": presets(want, [*request.project.rewards.select_related("made_by")]),
        "saved": request.project.rewards.select_related("made_by"),
        "sizes": MOST,
        "config": describe_reward(asdict(want.config)),
        "own": want.config == want.own,
        "savable": want.config not in PRESETS.values(),
        "config_json": json.dumps(asdict(want.config)),
        "answer": result,
        "stopped": "stop" in request.GET,
        **(build_context(request.project, want, result.compared) if result.compared else {}),
    }
    made = render(request, "experiments/what_if.html", context)
    made["HX-Replace-Url"] = f"{request.path}?{want.query()}{'&stop=1' if 'stop' in request.GET else ''}"
    return made


def build_context(project: Project, want: WhatIfParams, found: RewardComparison) -> dict[str, Any]:
    """Return the template context of a comparison: columns, ticks, and rollout URLs."""
    low, high = found.bins[0].low, found.bins[-1].high

    def pair_with_urls(rows: Sequence[Any]) -> list[tuple[Any, str]]:
        return [(one, build_row_url(project, want, one.row)) for one in rows]

    contradicted = found.labels.contradicted
    return {
        "columns": columns(found.bins),
        "ticks": [(0, "start", low), (WIDTH / 2, "middle", (low + high) / 2), (WIDTH, "end", high)],
        "moved": pair_with_urls(found.moved),
        "contradicted": pair_with_urls(contradicted[:LISTED]),
        "more": max(0, len(contradicted) - LISTED),
    }


def build_row_url(project: Project, want: WhatIfParams, row: Row) -> str:
    """Return the URL of a rollout's or trajectory's page."""
    if isinstance(want.source, RunSource):
        return reverse("rollout", args=[*project.path, want.source.run.number, *row.place])
    return reverse("trajectory", args=[*project.path, *row.place])


def fields(want: WhatIfParams) -> list[Field]:
    found = []
    for name, most in SLIDERS.items():
        field = RewardFields.base_fields[f"reward_{name}"]
        value, own = (getattr(config, name) for config in (want.config, want.own))
        now, then = ("" if one is None else format_weight(one) for one in (value, own))
        found.append(Field(name, str(field.label), str(field.help_text), now, then, field.max_value, most))
    return found


def presets(want: WhatIfParams, saved: list[SavedReward]) -> list[tuple[str, str, bool]]:
    """Return the named rewards as (title, query string, whether it is the current one)."""
    own = [("Original", want.own)]
    named = [(short(name), config) for name, config in PRESETS.items()]
    team = [(one.name, read_reward(one.config)) for one in saved]
    return [(title, want.query(config), config == want.config) for title, config in (*own, *named, *team)]


def answer(want: WhatIfParams, blind: Blind) -> Answer:
    """Score the rollouts with the configuration; slow reward forms use fewer rollouts.

    Rollouts that the user still has to review (`blind`) are left out.
    """
    source, began = want.source, perf_counter()
    assert source is not None
    untold = source.places(blind.keys) if blind.any else frozenset()
    plain, left, seconds_left = want.config.plain, 0, None
    try:
        if plain:
            lot, stale = exclude_places(source.read(want.most), untold), 0
            after: Floats = lot.compute_plain_totals(want.config)
        else:
            rescored = source.rescore(want.config, min(want.most, MOST_COMPLETE), AT_ONCE)
            stale, left = rescored.stale, rescored.left
            seconds_left = (perf_counter() - began) / rescored.scored_now * left if rescored.scored_now else None
            lot = Lot.from_rows([row for row in rescored.lot.rows if row.place in rescored.after.keys() - untold])
            after = np.array([rescored.after[row.place] for row in lot.rows], dtype=np.float64)
    except (NoRollouts, StaleExample, UnknownExample, UnreadableData) as why:
        return Answer(why=str(why))
    fields = {"looked": len(lot.rows), "all": source.size(), "without": lot.without, "stale": stale, "left": left}
    if not len(lot.rows) and not left:
        return Answer(**fields, why=explain_empty_result(stale, lot.without))
    if not len(lot.rows):
        return Answer(**fields, seconds_left=seconds_left)
    accepts = (want.accept * source.most, want.accept * max(1.0, want.config.largest))
    found = compare_rewards(lot, after, (want.own, want.config), source.verdicts(lot.rows), accepts)
    return Answer(compared=found, seconds=perf_counter() - began, seconds_left=seconds_left, **fields)


def exclude_places(lot: Lot, places: Collection[Place]) -> Lot:
    return Lot.from_rows([row for row in lot.rows if row.place not in places]) if places else lot


def explain_empty_result(stale: int, without: int) -> str:
    if stale:
        return (
            f"All {stale:,} were recorded with other server code, so their worlds cannot be compared. "
            "Use the form paper or graduated, which need no world."
        )
    if without:
        return f"None of these {without:,} rollouts has a reward, or the dataset has none of their conversations."
    return "No rollouts to score yet. They are stored as the run trains."


@in_project(Action.LAUNCH)
@require_POST
def reward_save(request: ProjectRequest) -> HttpResponse:
    """Save the page's configuration under a name, which the launch form then offers."""
    back = f"{reverse('what-if', args=request.project.path)}?{request.POST.get('back', '')}"
    try:
        config: RewardConfig = validate_reward_limits(read_reward(request.POST.get("config", "") or "{}"))
        made = save(request.project, request.user, request.POST.get("name", ""), config)
    except BadReward as why:
        messages.error(request, f"Reward not saved. {why}")
        return redirect(back)
    messages.success(request, f"“{made.name}” saved. The launch form now offers it.")
    return redirect(back)


@in_project(Action.LAUNCH)
@require_POST
def reward_remove(request: ProjectRequest, reward: int) -> HttpResponse:
    """Delete a saved reward if `sure` is set; runs scored with it are not affected."""
    found = get_object_or_404(SavedReward, project=request.project, pk=reward)
    if "sure" not in request.POST:
        messages.warning(request, f"“{found.name}” was not removed: the removal was not confirmed.")
        return redirect("what-if", *request.project.path)
    found.delete()
    messages.success(request, f"“{found.name}” removed. Runs scored with it keep their weights.")
    return redirect("what-if", *request.project.path)
