"""Evaluation report: accuracy of each category with its interval, failures by kind, and items that were not run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import Annotated

from pydantic import Field

from ..reward.acts import ActTable, act_accuracy, count_acts
from ..reward.goal import goal_success
from .intervals import Score, estimate_score, mean
from .protocol import Identity, Item, Result, task_of


@dataclass(frozen=True, kw_only=True)
class Category:
    """Counts and scores of one category: `asked` items were requested, `run` were run; the score is over the latter.

    `score` is None when no item was run. `pass_hat[k - 1]` is pass^k: the chance that k trials of a task, drawn without
    replacement, all pass; the mean over the tasks with at least k trials (tau-bench, arXiv 2406.12045). `silent` is the
    accuracy of a model that says nothing on the same items, None if unknown. Goal success and act accuracy exist only
    for rollouts on our own servers.
    """

    name: str
    asked: int
    run: int
    passed: int
    score: Score | None
    pass_hat: tuple[float, ...] = ()
    silent: float | None = None
    goal_success: Annotated[float | None, Field(exclude_if=lambda share: share is None)] = None
    act_accuracy: Annotated[float | None, Field(exclude_if=lambda share: share is None)] = None


@dataclass(frozen=True)
class Group:
    """Categories that count as one in the overall score; `score` is their mean, None unless each has a score."""

    name: str
    score: Score | None


@dataclass(frozen=True, kw_only=True)
class Report:
    """The outcome of an evaluation.

    `overall` is the mean of the benchmark's `groups`, or of all categories if it has no groups; None unless every
    category has a score. `absent` gives for a category without items the reason. `acts` counts user turns by correct
    act and the policy's act (reward/acts.py), where these are known.
    """

    identity: Identity
    categories: tuple[Category, ...]
    overall: Score | None
    failures: dict[str, int]
    not_run: dict[str, str]
    steps: int
    calls: int
    tokens: int
    seconds: float = field(compare=False)
    groups: Annotated[tuple[Group, ...], Field(exclude_if=lambda groups: not groups)] = ()
    absent: Annotated[dict[str, str], Field(exclude_if=lambda absent: not absent)] = field(default_factory=dict)
    acts: Annotated[ActTable, Field(exclude_if=lambda acts: not acts)] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether every requested item was run."""
        return all(one.run == one.asked for one in self.categories)


def report_of(
    identity: Identity,
    categories: Sequence[str],
    items: Sequence[Item],
    done: Mapping[str, Result],
    not_run: Mapping[str, str],
    silent: Mapping[str, Result] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    absent: Mapping[str, str] | None = None,
) -> Report:
    """Return the report on these items, in any order, with the results of a silent model as baseline.

    `groups` are the benchmark's groups: the categories of each, by name.
    """
    rows = tuple(
        category_of(name, [item for item in items if item.category == name], done, silent or {})
        for name in categories
        if any(item.category == name for item in items)
    )
    results = [done[item.id] for item in items if item.id in done]
    scores = {row.name: row.score for row in rows if row.score}
    grouped = tuple(Group(name, mean_of(scores, parts)) for name, parts in (groups or {}).items())
    parts = {group.name: group.score for group in grouped if group.score} if groups else scores
    rollouts = [result.rollout for result in results]
    failures = Counter(result.failure for result in results if not result.passed)
    return Report(
        identity=identity,
        categories=rows,
        overall=mean_of(parts, tuple(groups or categories)),
        failures=dict(sorted(failures.items(), key=lambda one: (-one[1], one[0]))),
        not_run=dict(sorted(not_run.items())),
        steps=sum(result.steps for result in results),
        calls=sum(len(rollout.calls) for rollout in rollouts),
        tokens=sum(result.tokens for result in results),
        seconds=sum(result.seconds for result in results),
        groups=grouped,
        absent=dict(absent or {}),
        acts=count_acts(rollouts) if any(rollout.acts for rollout in rollouts) else [],
    )


def mean_of(scores: Mapping[str, Score], names: Sequence[str]) -> Score | None:
    """Return the mean of the named scores; None unless there is a score for each name."""
    return mean([scores[name] for name in names]) if names and all(name in scores for name in names) else None


def category_of(name: str, items: Sequence[Item], done: Mapping[str, Result], silent: Mapping[str, Result]) -> Category:
    run = [done[item.id] for item in items if item.id in done]
    nothing = [silent[item.task].value for item in items if item.task in silent]
    return Category(
        name=name,
        asked=len(items),
        run=len(run),
        passed=sum(result.passed for result in run),
        score=estimate_score([sum(values) / len(values) for values in by_task(run).values()]),
        pass_hat=pass_hat([[result.passed for result in trials] for trials in trials_of(run).values()]),
        silent=sum(nothing) / len(nothing) if len(nothing) == len(items) else None,
        goal_success=goal_success(result.rollout for result in run),
        act_accuracy=act_accuracy(result.rollout for result in run),
    )


def trials_of(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Return the results of each task."""
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(task_of(result.item), []).append(result)
    return found


def by_task(results: Sequence[Result]) -> dict[str, list[float]]:
    """Return the values of each task's trials."""
    return {task: [result.value for result in trials] for task, trials in trials_of(results).items()}


def pass_hat(tasks: Sequence[Sequence[bool]]) -> tuple[float, ...]:
    """Return pass^1, pass^2, ... up to the largest number of trials of a task; empty where no task has two."""
    most = max(map(len, tasks), default=0)
    if most < 2:
        return ()
    return tuple(
        sum(chances) / len(chances)
        for k in range(1, most + 1)
        if (chances := [comb(sum(trials), k) / comb(len(trials), k) for trials in tasks if len(trials) >= k])
    )
