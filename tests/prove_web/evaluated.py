"""Evaluations as a worker leaves them: the real runner runs them on a small benchmark, with rows and folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from django.conf import settings

from prove_web.accounts.models import Project, User
from prove_web.evaluations.models import Evaluation, EvaluationItem
from prove_web.experiments.models import Run
from prove_web.live.models import Job, Kind, State
from training_worker.chat.protocol import HERMES, ScriptedModel, write_calls
from training_worker.core.trajectory import ExecutedCall, Message, Rollout, ToolCall, dumps
from training_worker.evaluation.protocol import Item, NotRun, Policy, Result, identity_of, select_items
from training_worker.evaluation.results import Results
from training_worker.evaluation.runner import evaluate

AWAY = "the endpoint is away"


class Look:
    """A benchmark of files to read: a policy passes an item if it reads the item's file and no other."""

    name, version = "look", "1"

    def __init__(self, items: int = 12, categories: Sequence[str] = ("even", "odd"), version: str = "1"):
        self.count, self.categories, self.version = items, tuple(categories), version

    def items(self) -> Sequence[Item]:
        kinds = len(self.categories)
        made = [Item(f"look-{number}", self.categories[number % kinds]) for number in range(self.count)]
        return sorted(made, key=lambda item: self.categories.index(item.category))

    def attempt(self, item: Item, policy: Policy) -> Result:
        question = Message("user", f"What is in {item.task}?")
        said = policy.speak(item).reply([question], [])
        calls = tuple(
            ExecutedCall(call, 3, json.dumps({"text": f"all of {(call.arguments or {}).get('file')}"}), 0)
            for call in HERMES.parse(said, 10)
        )
        tool_messages = [Message("tool", made.observation) for made in calls]
        rollout = Rollout(
            example=item.id,
            transcript=(question, Message("assistant", said), *tool_messages, Message("assistant", "Done.")),
            calls=calls,
            end="answered",
            reward=None,
        )
        files = [(made.call.arguments or {}).get("file") for made in calls]
        failure = "" if files == [item.task] else "nothing_read" if not files else "another_file"
        why = f"read {files}, expected {item.task}" if failure else ""
        return Result(
            item=item.id,
            category=item.category,
            passed=not failure,
            failure=failure,
            why=why,
            rollout=rollout,
            steps=2,
            tokens=10,
        )


class Aimed(Look):
    """The same benchmark on our servers: a policy that reads any file reaches the goal."""

    def attempt(self, item: Item, policy: Policy) -> Result:
        result = super().attempt(item, policy)
        acts: Any = (("call", "call" if result.rollout.calls else "text"),)
        return replace(result, rollout=replace(result.rollout, goal_success=bool(result.rollout.calls), acts=acts))


Says = Callable[[Item], str]


def reads(item: Item) -> str:
    return write_calls([ToolCall("read", {"file": item.task})])


def fails_on(*numbers: int, by: str = "no idea") -> Says:
    """Return a policy that is right except for the items of these numbers."""
    wrong = {f"look-{number}" for number in numbers}
    return lambda item: by if item.task in wrong else reads(item)


def saying(says: Says, model: str = "right") -> Policy:
    return Policy(model=model, speak=lambda item: ScriptedModel([says(item)]))


def out_of_reach(policy: Policy, *ids: str) -> Policy:
    """Return the same policy, for which these items cannot be run."""

    def speak(item: Item) -> Any:
        if item.id in ids:
            raise NotRun(AWAY)
        return policy.speak(item)

    return replace(policy, speak=speak)


def evaluation_of(
    project: Project,
    policy: Policy | None = None,
    benchmark: Any = None,
    *,
    state: State = State.DONE,
    run: Run | None = None,
    checkpoint: str = "",
    by: User | None = None,
    trials: int = 1,
    limit: int | None = None,
    named: str = "",
    number: int = 0,
    spec: Mapping[str, Any] | None = None,
) -> Evaluation:
    """Run the evaluation. One that is not done has no report yet and half of its items."""
    policy, benchmark = policy or saying(reads), benchmark or Look()
    number = number or Evaluation.objects.filter(project=project).count() + 1
    folder = Path("benchmarks", "projects", str(project.pk), named or benchmark.name, f"{policy.model}-{number}")
    identity, items = identity_of(benchmark, policy), select_items(benchmark.items(), (), limit, trials)
    attempted = items if state == State.DONE else items[: len(items) // 2]
    silent = {item.id: benchmark.attempt(item, saying(lambda item: "")) for item in benchmark.items()}
    with Results(Path(settings.PROVE_DATA) / folder, identity) as results:
        report = evaluate(benchmark, policy, attempted, results, parallel=1, silent=silent)
        done = list(results.done.values())
    result = {"folder": str(folder)} | ({"report": json.loads(dumps(report))} if state == State.DONE else {})
    job_spec = {"trials": trials, "limit": limit, "source": "endpoint", **(spec or {})}
    job = Job.objects.create(
        project=project,
        kind=Kind.EVALUATE,
        title="Evaluation",
        state=state,
        created_by=by,
        result=result,
        spec=job_spec,
        done=len(attempted),
        total=len(items),
    )
    made = Evaluation.objects.create(
        project=project,
        number=number,
        name=f"{policy.model} on {named or benchmark.name}",
        benchmark=named or benchmark.name,
        version=identity.version,
        settings=asdict(identity)["settings"],
        model=policy.model,
        run=run,
        checkpoint=checkpoint,
        overall=report.overall.accuracy if report.overall and state == State.DONE else None,
        job=job,
    )
    EvaluationItem.objects.bulk_create(row(made, line, one) for line, one in enumerate(done))
    return made


def row(evaluation: Evaluation, line: int, result: Result) -> EvaluationItem:
    return EvaluationItem(
        evaluation=evaluation,
        item=result.item,
        category=result.category,
        passed=result.passed,
        value=result.value,
        goal_success=result.rollout.goal_success,
        failure=result.failure,
        steps=result.steps,
        calls=len(result.rollout.calls),
        tokens=result.tokens,
        seconds=result.seconds,
        line=line,
    )
