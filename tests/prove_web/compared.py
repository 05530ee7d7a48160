"""Runs to compare: curves with tools, a final evaluation with its rollouts in the job's folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prove_web.accounts.models import Project
from prove_web.experiments.models import HeldOut, Point, Run
from prove_web.live.models import State
from prove_web.trajectories.models import Dataset
from training_worker.core.trajectory import Example, Rollout, write_lines
from training_worker.monitoring.metrics import TOOLS

from .examples import abstention, examples
from .trained import RESULT, good, run_of, saying

Plays = Callable[[int, Example], Rollout]


def bad(example: Example) -> Rollout:
    """Return the rollout of a policy that only says it has no idea."""
    return saying(example, *("No idea." for _ in example.turns))


def held_out_examples(count: int = 6) -> list[Example]:
    """Return conversations that require calls, and one that requires none."""
    return [*[one for one in examples() if one.steps][: count - 1], abstention()]


def trained_run(
    project: Project,
    name: str,
    steps: int = 40,
    lift: float = 0.0,
    *,
    config: Mapping[str, Any] | None = None,
    state: State = State.DONE,
    dataset: Dataset | None = None,
    tools: Mapping[str, tuple[int, int]] | None = None,
) -> Run:
    """Create a run whose reward rises to `lift` above 0.8, with tool calls, held-out evaluations and a result."""
    sampled: dict[str, Any] = {**RESULT["sampled"], "after": 0.75 + lift}  # type: ignore[dict-item]
    lines: Any = RESULT["after"]
    after = [{**line, "means": {**line["means"], "validity": 0.7 + lift}} for line in lines]
    result = {**RESULT, "sampled": sampled, "after": after} if state == State.DONE else {}
    run = run_of(project, name=name, state=state, dataset=dataset, config=config, result=result)
    used = tools or {"transfer_money": (10, 4), "list_accounts": (20, 1)}
    Point.objects.bulk_create(
        Point(run=run, step=step, metrics=line(step, steps, lift, used)) for step in range(1, steps + 1)
    )
    HeldOut.objects.bulk_create(
        HeldOut(run=run, step=step, metrics={"reward": 0.4 + lift + step / steps / 3, "success": 0.3})
        for step in range(0, steps + 1, max(1, steps // 5))
    )
    return run


def line(step: int, steps: int, lift: float, tools: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    rise = 1 - math.exp(-4 * step / steps)
    noise = ((step * 7919) % 13 - 6) / 150
    parts = {"validity": 0.5 + 0.4 * rise, "coverage": 0.3 + 0.5 * rise, "efficiency": -0.1 + 0.05 * rise}
    parts |= {"name": 0.4 + 0.5 * rise, "arguments": 0.2 + 0.5 * rise}
    metrics = {"reward": 0.3 + (0.5 + lift) * rise + noise, "success": 0.5 * rise, "tool_failures": 0.5 - 0.4 * rise}
    return {
        **metrics,
        **parts,
        "tokens": 1000 + 10 * step,
        "elapsed_s": 2.0 * step,
        TOOLS: {n: list(c) for n, c in tools.items()},
    }


def leave_held_out(run: Run, plays: Plays, held: Sequence[Example] = (), samples: int = 4) -> None:
    """Write the rollouts of the final evaluation as the worker writes them; before training, all of them fail."""
    held = held or held_out_examples()
    for side, each in (("before", lambda at, one: bad(one)), ("after", plays)):
        for mode, count in (("greedy", 1), ("sampled", samples)):
            folder = run.job.out / "evaluations" / f"{side}-{mode}"
            folder.mkdir(parents=True, exist_ok=True)
            made = [each(at, one) for at, one in enumerate(held) for _ in range(count)]
            write_lines(folder / "rollouts.jsonl", made)


def right(at: int, example: Example) -> Rollout:
    return good(example)


def wrong_on(*places: int) -> Plays:
    """Return a policy that is right except at these places."""
    return lambda at, example: bad(example) if at in places else good(example)
