"""SFT job: one supervised run on demonstrations, and its effect on the policy's reward in held-out worlds.

It is reported and measured like a GRPO run (see run.py), so that the two can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .job_context import EventLog, JobRefusedError, JobStopped, Result, parse_int
from .run import EventAdapter, held_out_examples, tell_history
from .settings import run_of

if TYPE_CHECKING:
    from ..config.sft import SupervisedRun

LEAST = {
    **{"epochs": 1, "batch": 1, "longest": 1, "max_steps": 1, "checkpoint_every": 1, "threads": 1},
    **{"lora_alpha": 1, "lora_rank": 0, "patience": 0},
}
ABOVE_0 = ("learning_rate", "minutes")


def work(spec: Mapping[str, Any], folder: Path, tell: EventLog) -> Result:
    """Train, then evaluate before against after; a later attempt resumes from the newest checkpoint."""
    tell.progress(0, 0, "loading the policy and the data")
    from ..policy.policy_folder import load_tokenizer
    from ..training.run_folder import RunMismatch
    from ..training.sft_trainer import train_supervised
    from .eta import RunProgress
    from .eval_callback import MODES, WATCHED, Comparison, Watch, select_short_prompts

    config = settings(spec, folder)
    policy, most = load_tokenizer(config.policy), parse_int(spec, "held_out", 0, default=200)
    live = [example for example in held_out_examples(config) if example.certified]
    examples = select_short_prompts(live, policy, config.longest, most)
    every = parse_int(spec, "evaluate_every", 0, default=20)
    rollouts = 2 * len(examples) * sum(samples for _, samples, _ in MODES)
    pace = RunProgress(config, every, min(WATCHED, len(examples)), rollouts)
    watch = Watch(config.out, examples, policy, pace, tell)
    tell_history(config, watch, tell)
    try:
        trained = train_supervised(
            config, SFTEventAdapter(tell, pace), stop=tell.stop, evaluate=watch, evaluate_every=every
        )
    except RunMismatch as error:
        raise JobRefusedError("This run was begun with other settings or data. Launch a new run.") from error
    if trained.ended == "stopped":
        raise JobStopped
    result: Result = {"steps": trained.step, "seconds": trained.seconds, "ended": trained.ended}
    if examples:
        result |= Comparison(config.out, examples, pace, tell).result(config.policy, trained.policy)
    return result


class SFTEventAdapter(EventAdapter):
    """Event adapter that shows the loss, and takes the number of steps in the epochs from the trainer."""

    headline = "loss"

    def __call__(self, event: dict[str, Any]) -> None:
        if event["event"] == "planned":
            self.pace.config = replace(self.pace.config, max_steps=event["steps"])
        super().__call__(event)


def settings(spec: Mapping[str, Any], folder: Path) -> SupervisedRun:
    """Return the run that the specification asks for. Raises JobRefusedError."""
    from ..config.sft import SupervisedRun

    return run_of(SupervisedRun, spec, folder, LEAST, ABOVE_0)
