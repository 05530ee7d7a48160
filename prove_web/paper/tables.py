"""The paper's tables, each row followed by the team's result or by a link that launches what it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from prove_web.accounts.models import Project
from prove_web.evaluations.querysets import why_not
from prove_web.evaluations.ranking import LeaderboardRow
from prove_web.evaluations.reports import title_of
from prove_web.experiments.initial_policy import WARM
from prove_web.experiments.models import Run
from training_worker.core.models import BEST
from training_worker.evaluation import published_scores

from .ours import BASE, OF_RUN, PROVE, SFT, ProjectResults, Slot

ABLATIONS = dict(
    zip(
        ("no_validity", "no_coverage", "no_efficiency", "no_name", "no_arguments", "flat_budget"),
        published_scores.ABLATIONS,
        strict=True,
    )
)
PAPERS_TEACHER = "Gemma-4-31B-it"
OTHER_TEACHER = "Qwen3-32B"
LACKS = "also requires a full-reward evaluation"
OFFERED = 12  # alternative evaluations


@dataclass(frozen=True)
class Part:
    """A row's cells of one benchmark, in percent or points, None where missing.

    `launch` is (label, URL) to fill them. `others` are alternative evaluations as (title, query string). `why` says why
    cells are missing.
    """

    benchmark: str
    cells: tuple[float | None, ...]
    standing: LeaderboardRow | None = None
    launch: tuple[str, str] | None = None
    others: tuple[tuple[str, str], ...] = ()
    why: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a table; `run` is the team's run whose held-out result is shown next to it."""

    name: str
    note: str
    ours: bool
    parts: tuple[Part, ...]
    run: Run | None = None


@dataclass(frozen=True)
class Table:
    """A table; `heads` are the benchmarks with their columns; with `changes` the numbers are differences in points.

    With `trained`, the runs' own held-out results are shown as well.
    """

    key: str
    title: str
    about: str
    heads: tuple[tuple[str, tuple[str, ...]], ...]
    rows: tuple[Row, ...]
    changes: bool = False
    trained: bool = False


class Tables:
    """All evaluation tables for the results of one project."""

    def __init__(self, project: Project, found: ProjectResults, query: QueryDict):
        self.project, self.found, self.query = project, found, query

    @property
    def all(self) -> list[Table]:
        return [
            self.main("bfcl-tau2", ("bfcl", "tau2")),
            self.main("teval", ("teval",)),
            self.ablations(),
            self.build_supervised_table(),
            self.teachers(),
        ]

    def main(self, key: str, benchmarks: tuple[str, ...]) -> Table:
        rows: list[Row] = []
        for model in self.found.models:
            for stage in (BASE, PROVE):
                published = [scores(name, model, stage) for name in benchmarks]
                if any(published):
                    parts = [Part(name, cells(name, one)) for name, one in zip(benchmarks, published, strict=True)]
                    rows.append(Row(model, stage, False, tuple(parts)))
                rows.append(self.build_team_row(model, stage, benchmarks, detailed=True))
        words = " and ".join(title_of(name) for name in benchmarks)
        about = " ".join(
            ["Each model before and after training, in percent."] + [published_scores.MEASURED[n] for n in benchmarks]
        )
        return Table(key, words, about, heads(benchmarks, True), tuple(rows))

    def build_supervised_table(self) -> Table:
        rows = []
        for model in self.found.models:
            if model in published_scores.SUPERVISED:
                rows.append(Row(model, SFT, False, overall(published_scores.SUPERVISED[model])))
            rows.append(self.build_team_row(model, SFT, published_scores.BENCHMARKS))
        about = "Three epochs on the same conversations instead of GRPO: overall, in percent."
        title = "Supervised training on the same data"
        return Table("supervised", title, about, heads(published_scores.BENCHMARKS, False), tuple(rows), trained=True)

    def teachers(self) -> Table:
        rows = []
        for model in self.found.models:
            if model in published_scores.TAUGHT:
                full = tuple(row.overall for row in published_scores.MAIN if (row.model, row.stage) == (model, PROVE))
                rows.append(Row(model, f"taught by {PAPERS_TEACHER}", False, overall(full)))
                rows.append(Row(model, f"taught by {OTHER_TEACHER}", False, overall(published_scores.TAUGHT[model])))
            slots = [slot for slot in self.found.slots if (slot.model, slot.stage) == (model, PROVE)]
            slots = slots or ([Slot(model, PROVE)] if model in published_scores.TAUGHT else [])
            rows += [
                self.build_slot_row(
                    slot, f"taught by {slot.teacher or 'an unknown teacher'}", published_scores.BENCHMARKS
                )
                for slot in slots
            ]
        about = f"GRPO on conversations taught by {OTHER_TEACHER} instead of {PAPERS_TEACHER}: overall, in percent."
        return Table(
            "teachers", "Teachers", about, heads(published_scores.BENCHMARKS, False), tuple(rows), trained=True
        )

    def ablations(self) -> Table:
        tried = [slot.model for slot in self.found.slots if slot.stage in ABLATIONS] or [published_scores.ABLATED]
        rows = []
        for name, words in ABLATIONS.items():
            rows.append(Row(published_scores.ABLATED, words, False, overall(published_scores.ABLATIONS[words])))
            rows += [self.build_ablation_row(model, name, words) for model in dict.fromkeys(tried)]
        about = "The reward without one component: overall, in points against the full reward with the same model."
        title = "Reward ablations"
        return Table("ablations", title, about, heads(published_scores.BENCHMARKS, False), tuple(rows), True, True)

    def build_ablation_row(self, model: str, stage: str, words: str) -> Row:
        """Return the team's ablation against its own full reward; both evaluations must exist and be comparable."""
        row, full = (
            self.build_team_row(model, stage, published_scores.BENCHMARKS),
            self.build_team_row(model, PROVE, published_scores.BENCHMARKS),
        )
        parts = tuple(
            compute_score_change(part, baseline) for part, baseline in zip(row.parts, full.parts, strict=True)
        )
        return Row(model, words, True, parts, row.run)

    def build_team_row(self, model: str, stage: str, benchmarks: Sequence[str], detailed: bool = False) -> Row:
        """Return the team's row of a model and stage, with the teacher that has the most results."""
        slots = [slot for slot in self.found.slots if (slot.model, slot.stage) == (model, stage)]
        slot = max(slots, key=lambda one: self.weight(one, benchmarks), default=Slot(model, stage))
        return self.build_slot_row(slot, stage, benchmarks, detailed)

    def weight(self, slot: Slot, benchmarks: Sequence[str]) -> tuple[int, int]:
        newest = max((run.number for run in self.found.runs.get(slot, ())), default=0)
        return sum((slot, name) in self.found.evaluations for name in benchmarks), newest

    def build_slot_row(self, slot: Slot, note: str, benchmarks: Sequence[str], detailed: bool = False) -> Row:
        run = self.found.run_of(slot)
        return Row(slot.model, note, True, tuple(self.part(slot, name, detailed, run) for name in benchmarks), run)

    def part(self, slot: Slot, benchmark: str, detailed: bool, run: Run | None) -> Part:
        found = self.found.evaluations.get((slot, benchmark), [])
        best = self.found.best(slot, benchmark, run)
        others = tuple(
            (f"#{one.evaluation.number} {one.evaluation.name}, {one.run} tasks", self.build_pick_query(one, found))
            for one in found[:OFFERED]
            if one is not best
        )
        if best is None:
            none = (None,) * (len(published_scores.COLUMNS[benchmark]) + 1 if detailed else 1)
            return Part(
                benchmark, none, None, self.launch(slot, benchmark, run), others, slot.explain_missing_result(run)
            )
        accuracies = {name: cell.accuracy for name, cell in best.cells.items()}
        names = (
            (*published_scores.COLUMNS[benchmark], published_scores.OVERALL)
            if detailed
            else (published_scores.OVERALL,)
        )
        empty = [name.replace("_", " ") for name in names if accuracies.get(name) is None]
        why = f"no task of {', '.join(empty)} was run" if empty else ""
        return Part(benchmark, tuple(accuracies.get(name) for name in names), best, others=others, why=why)

    def build_pick_query(self, one: LeaderboardRow, instead_of: Sequence[LeaderboardRow]) -> str:
        """Return the query string that picks this evaluation instead of the others."""
        query = self.query.copy()
        mine = {str(each.evaluation.number) for each in instead_of}
        others = [number for number in query.getlist("pick") if number not in mine]
        query.setlist("pick", [*others, str(one.evaluation.number)])
        return query.urlencode()

    def launch(self, slot: Slot, benchmark: str, run: Run | None) -> tuple[str, str]:
        """Return what to launch for a result: an evaluation of the existing run or model, or first the run itself."""
        path = self.project.path
        policy = self.found.policies.get(slot.model, "")
        if run is not None:
            query = {"benchmark": benchmark, "run": run.number, "checkpoint": BEST}
            return f"Evaluate run {run.number}", f"{reverse('evaluation-new', args=[*path])}?{urlencode(query)}"
        start = {"policy": policy} if policy and not policy.startswith(OF_RUN) else {}
        if slot.stage == BASE:
            query = {"benchmark": benchmark, **start}
            return "Evaluate", f"{reverse('evaluation-new', args=[*path])}?{urlencode(query)}"
        query = {
            "recipe": "tiny" if policy == WARM else "paper",
            "kind": "sft" if slot.stage == SFT else "grpo",
            **start,
        }
        query |= {"reward": "paper" if slot.stage == PROVE else slot.stage} if slot.stage != SFT else {}
        return "Launch run", f"{reverse('run-new', args=[*path])}?{urlencode(query)}"


def heads(benchmarks: Sequence[str], detailed: bool) -> tuple[tuple[str, tuple[str, ...]], ...]:
    columns = {
        name: (*published_scores.COLUMNS[name], published_scores.OVERALL) if detailed else (published_scores.OVERALL,)
        for name in benchmarks
    }
    return tuple((title_of(name), tuple(column.replace("_", " ") for column in columns[name])) for name in benchmarks)


def scores(benchmark: str, model: str, stage: str) -> Mapping[str, float]:
    return next(
        (
            row.scores
            for row in published_scores.MAIN
            if (row.benchmark, row.model, row.stage) == (benchmark, model, stage)
        ),
        {},
    )


def cells(benchmark: str, scores: Mapping[str, float]) -> tuple[float | None, ...]:
    return tuple(scores.get(name) for name in (*published_scores.COLUMNS[benchmark], published_scores.OVERALL))


def overall(numbers: Sequence[float]) -> tuple[Part, ...]:
    return tuple(Part(name, (number,)) for name, number in zip(published_scores.BENCHMARKS, numbers, strict=True))


def compute_score_change(part: Part, full: Part) -> Part:
    """Return the change of the overall score from the full reward; if either is missing, what to launch."""
    if part.standing is None:
        return part
    if full.standing is None:
        return Part(part.benchmark, (None,), part.standing, full.launch, part.others, LACKS)
    if why := why_not(full.standing.evaluation, part.standing.evaluation):
        return Part(part.benchmark, (None,), part.standing, None, part.others, why)
    first, second = full.cells[0], part.cells[0]
    change = None if first is None or second is None else round(second - first, 1)
    return Part(part.benchmark, (change,), part.standing, None, part.others)
