"""Work: one supervised run on demonstrations, and how much better it made the policy on worlds it has not seen.

It is told and measured like a GRPO run (see run.py), so that the two can be laid side by side.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..prove.synthesis.folder import check
from ..prove.trajectory import loads
from .policies import policy_folder
from .run import Told, held_out_examples, job_id, tell_history
from .work import Refused, Result, Stopped, Tell, known, whole

if TYPE_CHECKING:
    from ..trainer.supervised_run import SupervisedRun

OWN = {"dataset", "policy", "evaluate_every", "held_out"}  # the rest are fields of SupervisedRun
GIVEN = {"policy", "data", "out"}  # fields of SupervisedRun that a specification does not set
LEAST = {
    **{"epochs": 1, "batch": 1, "longest": 1, "max_steps": 1, "checkpoint_every": 1, "threads": 1},
    **{"lora_alpha": 1, "lora_rank": 0, "patience": 0},
}
ABOVE_0 = ("learning_rate", "minutes")


def work(spec: Mapping[str, Any], folder: Path, tell: Tell) -> Result:
    """Train, then evaluate before and after; a later attempt goes on from the newest checkpoint."""
    tell.progress(0, 0, "loading the policy and the data")
    from ..trainer.policy import load_tokenizer
    from ..trainer.run_folder import RunMismatch
    from ..trainer.supervised import train_supervised
    from .held_out import MODES, WATCHED, Comparison, Watch, fitting
    from .pace import Pace

    config = settings(spec, folder)
    policy, most = load_tokenizer(config.policy), whole(spec, "held_out", 0, default=200)
    live = [example for example in held_out_examples(config) if example.certified]
    examples = fitting(live, policy, config.longest, most)
    every = whole(spec, "evaluate_every", 0, default=20)
    rollouts = 2 * len(examples) * sum(samples for _, samples, _ in MODES)
    pace = Pace(config, every, min(WATCHED, len(examples)), rollouts)
    watch = Watch(config.out, examples, policy, pace, tell)
    tell_history(config, watch, tell)
    try:
        trained = train_supervised(config, ToldOfLoss(tell, pace), stop=tell.stop, evaluate=watch, evaluate_every=every)
    except RunMismatch as error:
        raise Refused("This run was begun with other settings or data. Launch a new run.") from error
    if trained.ended == "stopped":
        raise Stopped
    result: Result = {"steps": trained.step, "seconds": trained.seconds, "ended": trained.ended}
    if examples:
        result |= Comparison(config.out, examples, pace, tell).result(config.policy, trained.policy)
    return result


class ToldOfLoss(Told):
    """The same with the loss, and with the number of steps that the epochs come to."""

    headline = "loss"

    def __call__(self, event: dict[str, Any]) -> None:
        if event["event"] == "planned":
            self.pace.config = replace(self.pace.config, max_steps=event["steps"])
        super().__call__(event)


def settings(spec: Mapping[str, Any], folder: Path) -> SupervisedRun:
    """The run that is asked for. Raises Refused."""
    from ..trainer.supervised_run import SupervisedRun

    names = {one.name for one in fields(SupervisedRun)} - GIVEN
    known(spec, OWN | names)
    data = folder.parent / job_id(spec.get("dataset")) / "out" / "train.jsonl"
    if not data.is_file():
        raise Refused("The data set's files are not here. Make a data set, then launch the run on it.")
    check(data)
    given = {name: value for name, value in spec.items() if name in names}
    paths = {"policy": policy_folder(spec.get("policy", "warm"), folder.parent), "data": data, "out": folder / "out"}
    for name in LEAST.keys() & given:
        whole(given, name, LEAST[name])
    try:
        run = loads(SupervisedRun, json.dumps({**given, **{name: str(path) for name, path in paths.items()}}))
    except ValueError as error:
        raise Refused(f"The settings do not fit: {'; '.join(str(error).splitlines()[1:3])}") from None
    for name in ABOVE_0:
        if (value := getattr(run, name)) is not None and not value > 0:
            raise Refused(f"{name} must be more than 0, not {value}.")
    return run
