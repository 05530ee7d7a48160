"""The team's runs and evaluations in the paper's terms: model, training stage and teacher."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models.fields.json import KeyTextTransform, KeyTransform

from prove_web.accounts.models import Project
from prove_web.evaluations.models import Evaluation
from prove_web.evaluations.querysets import BASELINES, last_part
from prove_web.evaluations.ranking import LeaderboardRow, build_leaderboard_row, load_finished_evaluations
from prove_web.experiments.initial_policy import WARM
from prove_web.experiments.models import Run, RunKind
from prove_web.experiments.querysets import select_sampled_value
from prove_web.live.models import State
from training_worker.evaluation import published_scores
from training_worker.reward import PAPER, PRESETS, BadReward, read_reward

MOST = 1_000  # newest runs considered
BASE, PROVE, SFT = "base", "PROVE", "SFT"
OF_RUN = "run:"
DEPTH = 8  # maximum length of a chain of continued runs


@dataclass(frozen=True)
class Slot:
    """The slot of a result: model, training stage (base, PROVE, SFT, or the name of an ablation), and teacher."""

    model: str
    stage: str
    teacher: str = ""

    def explain_missing_result(self, run: Run | None) -> str:
        """Return why the slot has no result, given its run if there is one."""
        if run is not None:
            return f"run {run.number} was not evaluated on this benchmark"
        return "the model was not evaluated on this benchmark" if self.stage == BASE else "no such run has ended"


@dataclass
class ProjectResults:
    """Finished runs by slot, and evaluations by slot and benchmark: most tasks first, then newest.

    `policies` are the initial policies of runs by model; `picked` are evaluations that take precedence.
    """

    runs: dict[Slot, list[Run]] = field(default_factory=dict)
    evaluations: dict[tuple[Slot, str], list[LeaderboardRow]] = field(default_factory=dict)
    policies: dict[str, str] = field(default_factory=dict)
    picked: frozenset[int] = frozenset()

    @property
    def slots(self) -> list[Slot]:
        """Return the slots ordered by model, the paper's models first."""
        found = {*self.runs, *(slot for slot, _ in self.evaluations)}
        return sorted(found, key=lambda slot: (place(slot.model), slot.model, slot.stage, slot.teacher))

    @property
    def models(self) -> list[str]:
        return list(dict.fromkeys((*published_scores.MODELS, *(slot.model for slot in self.slots))))

    def run_of(self, slot: Slot) -> Run | None:
        """Return the run that represents a slot.

        It has evaluations on the most benchmarks, then a held-out result, then the highest number.
        """

        def weight(run: Any) -> tuple[int, bool, int]:
            return (
                sum(
                    key[0] == slot and bool(filter_run_evaluations(run, each)) for key, each in self.evaluations.items()
                ),
                run.after is not None,
                run.number,
            )

        return max(self.runs.get(slot, ()), key=weight, default=None)

    def best(self, slot: Slot, benchmark: str, run: Run | None) -> LeaderboardRow | None:
        """Return the picked evaluation, else this run's evaluation with the most tasks, the newest of equal ones."""
        found = self.evaluations.get((slot, benchmark), [])
        picked = [one for one in found if one.evaluation.number in self.picked]
        mine = filter_run_evaluations(run, found)
        return next(iter([*picked, *mine]), None)


def filter_run_evaluations(run: Run | None, found: Sequence[LeaderboardRow]) -> list[LeaderboardRow]:
    return [one for one in found if one.evaluation.run_id == (run.pk if run else None)]


def place(model: str) -> int:
    return published_scores.MODELS.index(model) if model in published_scores.MODELS else len(published_scores.MODELS)


def load_project_results(project: Project, picked: Iterable[int] = ()) -> ProjectResults:
    """Load the results of a project in three queries; `picked` are numbers of evaluations that take precedence."""
    runs = runs_of(project)
    roots = {f"{OF_RUN}{run.job_id}": str(run.config.get("policy", WARM)) for run in runs}
    by_key = {run.pk: slot_of(run, roots) for run in runs}
    found = ProjectResults(picked=frozenset(picked))
    for run in runs:
        policy = root(str(run.config.get("policy", WARM)), roots)
        found.policies.setdefault(format_policy_name(policy), policy)
        if (slot := by_key[run.pk]) and run.job.state == State.DONE:
            found.runs.setdefault(slot, []).append(run)
    for one in load_finished_evaluations(project):
        if slot := slot_of_evaluation(one, by_key):
            found.evaluations.setdefault((slot, one.benchmark), []).append(build_leaderboard_row(one))
    for each in found.evaluations.values():
        each.sort(key=lambda one: (one.run, one.evaluation.number), reverse=True)
    return found


def runs_of(project: Project) -> Sequence[Run]:
    """Return the runs, newest first.

    Annotated with `teacher`, `before`, `after`, and `difference` with its interval.
    """
    numbers = {name: select_sampled_value(name) for name in ("before", "after", "difference", "low", "high")}
    teacher = KeyTextTransform("teacher", KeyTransform("manifest", "dataset__job__result"))
    rows = (
        Run.objects.filter(project=project, deleted_at=None)
        .exclude(kind=RunKind.OUTSIDE)
        .select_related("job", "project__organisation")
    )
    return list(
        rows.defer("notes", "job__spec", "job__result").annotate(teacher=teacher, **numbers).order_by("-number")[:MOST]
    )


def root(policy: str, roots: Mapping[str, str]) -> str:
    """Return the model at the start of a chain of runs; for a deleted run, the name of its policy."""
    for _ in range(DEPTH):
        before = roots.get(policy.partition("/")[0]) if policy.startswith(OF_RUN) else None
        if before is None:
            return policy
        policy = before
    return policy


def format_policy_name(policy: str) -> str:
    """Return a policy's name in tables: the paper's model that it matches, else the last part of its name."""
    return published_scores.model_like(policy) or last_part(policy)


def slot_of(run: Run, roots: Mapping[str, str]) -> Slot | None:
    """Return the slot of a run; None if its reward is neither the paper's nor one of its ablations."""
    annotated: Any = run
    stage = SFT if run.kind == RunKind.SFT else stage_of(run.config.get("reward"))
    model = format_policy_name(root(str(run.config.get("policy", WARM)), roots))
    return Slot(model, stage, annotated.teacher or "") if stage else None


def stage_of(reward: Mapping[str, Any] | None) -> str:
    """Return PROVE, the name of an ablation, or "" for any other reward."""
    try:
        config = read_reward(reward or {})
    except BadReward:
        return ""
    if config == PAPER:
        return PROVE
    return next((name for name, one in PRESETS.items() if one == config and one.form == "paper"), "")


def slot_of_evaluation(one: Evaluation, by_run: Mapping[int, Slot | None]) -> Slot | None:
    if one.run_id:
        return by_run.get(one.run_id)
    annotated: Any = one
    return None if annotated.source in BASELINES or not one.model else Slot(format_policy_name(one.model), BASE)
