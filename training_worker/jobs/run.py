"""Work: one GRPO run, and how much better it made the policy on worlds it has not seen."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..prove.synthesis.folder import check
from ..prove.trajectory import Example, loads, read_lines
from .launch import is_first
from .policies import policy_folder
from .storing import Storing
from .work import Refused, Result, Stopped, Tell, known, whole

if TYPE_CHECKING:
    from ..trainer.grpo_run import GRPORun
    from ..trainer.supervised_run import SupervisedRun
    from .held_out import Watch
    from .pace import Pace

OWN = {"dataset", "policy", "evaluate_every", "held_out"}  # the rest of a specification are fields of GRPORun
GIVEN = {"policy", "data", "out"}  # fields of GRPORun that a specification does not set
DEFAULTS = {"decay": 0.3}
LEAST = {
    **{"prompts": 1, "group": 2, "max_steps": 1, "checkpoint_every": 1, "threads": 1, "longest_prompt": 1},
    **{"processes": 1, "lora_alpha": 1, "lora_rank": 0, "micro_batch": 0, "patience": 0},
}
ABOVE_0 = ("learning_rate", "temperature", "minutes")


def work(spec: Mapping[str, Any], folder: Path, tell: Tell) -> Result:
    """Train, then evaluate before and after; a later attempt goes on from the newest checkpoint."""
    tell.progress(0, 0, "loading the policy and the data")
    from ..trainer.grpo import train
    from ..trainer.policy import load_tokenizer
    from ..trainer.run_folder import RunMismatch
    from .held_out import MODES, WATCHED, Comparison, Watch, fitting
    from .pace import Pace

    config = settings(spec, folder)
    every = whole(spec, "evaluate_every", 0, default=20)
    if config.sharding in ("fsdp", "zero3"):
        every = 0  # no process has the whole model, and the first one alone evaluates
    policy, most = load_tokenizer(config.policy), whole(spec, "held_out", 0, default=200)
    examples = fitting(held_out_examples(config), policy, config.longest_prompt, most)
    rollouts = 2 * len(examples) * sum(samples for _, samples, _ in MODES)
    pace = Pace(config, every, min(WATCHED, len(examples)), rollouts)
    watch = Watch(config.out, examples, policy, pace, tell)
    storing = None
    if is_first():
        step = tell_history(config, watch, tell)
        storing = Storing(config.out / "rollouts", folder.name, step, tell)
        storing.tell_before(step)
    on_event = Told(tell, pace, storing)
    try:
        trained = train(config, on_event, stop=tell.stop, evaluate=watch, evaluate_every=every)
    except RunMismatch as error:
        raise Refused("This run was begun with other settings or data. Launch a new run.") from error
    finally:
        if storing:
            storing.finish()
    if trained.ended == "stopped":
        raise Stopped
    result: Result = {"steps": trained.step, "seconds": trained.seconds, "ended": trained.ended}
    if examples and is_first():
        result |= Comparison(config.out, examples, pace, tell).result(config.policy, trained.policy)
    return result


def settings(spec: Mapping[str, Any], folder: Path) -> GRPORun:
    """The run that is asked for. Raises Refused."""
    from ..trainer.grpo_run import GRPORun

    names = {one.name for one in fields(GRPORun)} - GIVEN
    known(spec, OWN | names)
    policy = policy_folder(spec.get("policy", "warm"), folder.parent)
    data = folder.parent / job_id(spec.get("dataset")) / "out" / "train.jsonl"
    if not data.is_file():
        raise Refused("The data set's files are not here. Make a data set, then launch the run on it.")
    check(data)
    given = {**DEFAULTS, **{name: value for name, value in spec.items() if name in names}}
    paths = {"policy": policy, "data": data, "out": folder / "out"}
    for name in LEAST.keys() & given:
        whole(given, name, LEAST[name])
    try:
        run = loads(GRPORun, json.dumps({**given, **{name: str(path) for name, path in paths.items()}}))
    except ValueError as error:
        raise Refused(f"The settings do not fit: {'; '.join(str(error).splitlines()[1:3])}") from None
    for name in ABOVE_0:
        if (value := getattr(run, name)) is not None and not value > 0:
            raise Refused(f"{name} must be more than 0, not {value}.")
    return run


def job_id(value: Any) -> str:
    try:
        return str(uuid.UUID(value))
    except (ValueError, TypeError, AttributeError):
        raise Refused(f"dataset must be the id of the job that made the data set, not {value!r}.") from None


def held_out_examples(config: GRPORun | SupervisedRun) -> list[Example]:
    path = config.data.with_name("held_out.jsonl")
    return list(read_lines(Example, path)) if path.exists() else []


def tell_history(config: GRPORun | SupervisedRun, watch: Watch, tell: Tell) -> int:
    """What earlier attempts did up to the step this one goes on from, which it gives: they may not have told it."""
    from ..trainer.run_folder import RunFolder

    folder = RunFolder(config.out)
    start = folder.newest()
    step = start.step if start else 0
    tell("rewound", step=step)
    for line in folder.lines() if folder.metrics.exists() else ():
        if line["step"] <= step:
            tell("step", **line)
    watch.rewind(step)
    if start:
        tell("checkpoint", step=step, bytes=size_of(start.folder))
    return step


class Told:
    """Passes on what the trainer tells, and how long it will still take."""

    headline = "reward"  # the metric that stands in the line of progress

    def __init__(self, tell: Tell, pace: Pace, storing: Storing | None = None):
        self.tell, self.pace, self.storing = tell, pace, storing

    def __call__(self, event: dict[str, Any]) -> None:
        data = {name: value for name, value in event.items() if name != "event"}
        if event["event"] == "step":
            self.pace.stepped(data)
            self.tell("step", **data)
            self.progress(data)
        elif event["event"] == "rollouts" and self.storing:
            self.storing.kept(data)
        elif event["event"] == "checkpoint":
            self.tell("checkpoint", step=data["step"], bytes=size_of(Path(data["path"])))

    def progress(self, line: Mapping[str, Any]) -> None:
        if self.tell.stop.requested:
            return  # the trainer sees it too, and writes a checkpoint first
        found = line.get(self.headline)
        told = f"{self.headline} {found:.2f}" if found is not None else "no rollout that could be scored"
        text = f"step {line['step']} of at most {self.pace.config.max_steps}, {told}"
        self.tell.progress(**self.pace.reading(text))


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
