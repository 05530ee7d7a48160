"""Lookup of an evaluation and of those it can be compared with, the run's initial model first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.shortcuts import get_object_or_404

from prove_web.accounts.models import Project
from prove_web.experiments.initial_policy import WARM
from prove_web.live.models import State
from training_worker.evaluation.compare import NotComparable, require_comparable
from training_worker.evaluation.protocol import Identity

from .models import Evaluation

MOST = 30
BASELINES = ("oracle", "silent")  # sources without a model


@dataclass(frozen=True)
class ComparisonCandidate:
    """Another evaluation of the same benchmark; `why_not` says why scores are not comparable, "" if they are."""

    evaluation: Evaluation
    note: str
    why_not: str


def evaluation_of(project: Project, number: int) -> Evaluation:
    related = ("job__project__organisation", "job__created_by", "job__after", "run__dataset", "project__organisation")
    found: Evaluation = get_object_or_404(Evaluation.objects.select_related(*related), project=project, number=number)
    return found


def identity_of(evaluation: Evaluation) -> Identity:
    """Return the part of the identity that decides comparability."""
    return Identity(evaluation.benchmark, evaluation.version, evaluation.model, "tools", {}, evaluation.settings)


def why_not(first: Evaluation, second: Evaluation) -> str:
    try:
        require_comparable(identity_of(first), identity_of(second))
    except NotComparable as reason:
        return str(reason)
    return ""


def list_other_evaluations(evaluation: Evaluation) -> QuerySet[Evaluation]:
    """Return all other evaluations of the same benchmark in the project, annotated by `light`."""
    same = Evaluation.objects.filter(project_id=evaluation.project_id, benchmark=evaluation.benchmark)
    return light(same.exclude(pk=evaluation.pk))


def light(rows: QuerySet[Evaluation]) -> QuerySet[Evaluation]:
    """Defer the large fields of the jobs; annotate `policy` and `source` of the request, null where missing."""
    fields = {name: KeyTextTransform(name, "job__spec") for name in ("policy", "source")}
    return rows.select_related("run", "job").defer("job__result", "job__spec", "run__notes").annotate(**fields)


def choices(evaluation: Evaluation) -> list[ComparisonCandidate]:
    """Return comparison candidates: the initial model first, then comparable ones, then the newest; one query."""
    found = list(list_other_evaluations(evaluation)[:500])
    base = base_among(evaluation, found)

    def build_candidate(one: Evaluation) -> ComparisonCandidate:
        if one is base:
            note = "initial model of the run"
        elif one.run_id and one.run_id == evaluation.run_id:
            note = "same run"
        else:
            note = ""
        return ComparisonCandidate(one, note, why_not(one, evaluation))

    def order(one: ComparisonCandidate) -> tuple[bool, ...]:
        ended, baseline = one.evaluation.job.state == State.DONE, one.evaluation.source in BASELINES
        return one.evaluation is not base, bool(one.why_not), not ended, not one.note, baseline

    return sorted(map(build_candidate, found), key=order)[:MOST]


def base_among(evaluation: Evaluation, found: Iterable[Evaluation]) -> Evaluation | None:
    """Return the newest comparable evaluation of the initial model of this evaluation's run."""
    if evaluation.run is None:
        return None
    like = [one for one in found if is_start_of(one, evaluation) and not why_not(one, evaluation)]
    return max(like, key=lambda one: one.number, default=None)


def is_start_of(one: Evaluation, evaluation: Evaluation) -> bool:
    """Return whether `one` evaluates the initial policy of the other's run (see experiments/initial_policy.py)."""
    start = evaluation.run.config.get("policy", WARM)
    return one.policy == start or (one.run_id is None and last_part(one.model) == last_part(start))


def last_part(name: str) -> str:
    return name.rpartition("/")[2]
