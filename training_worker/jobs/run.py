"""GRPO job: one run, and its effect on the policy's reward in held-out worlds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config.grpo import JOB_DEFAULTS
from ..core.trajectory import Example, read_lines
from .job_context import EventLog, JobRefusedError, JobStopped, Result, parse_int
from .launch import is_first
from .rollout_upload import RolloutUploader
from .settings import run_of

if TYPE_CHECKING:
    from ..config.grpo import GRPORun
    from ..config.sft import SupervisedRun
    from .eta import RunProgress
    from .eval_callback import Watch

LEAST = {
    **{"prompts": 1, "group": 2, "max_steps": 1, "checkpoint_every": 1, "threads": 1, "longest_prompt": 1},
    **{"processes": 1, "lora_alpha": 1, "lora_rank": 0, "micro_batch": 0, "patience": 0},
}
ABOVE_0 = ("learning_rate", "temperature", "minutes")


def work(spec: Mapping[str, Any], folder: Path, tell: EventLog) -> Result:
    """Train, then evaluate before against after; a later attempt resumes from the newest checkpoint."""
    tell.progress(0, 0, "loading the policy and the data")
    from ..policy.policy_folder import load_tokenizer
    from ..training.grpo import train
    from ..training.run_folder import RunMismatch
    from .eta import RunProgress
    from .eval_callback import MODES, WATCHED, Comparison, Watch, select_short_prompts

    config = settings(spec, folder)
    every = parse_int(spec, "evaluate_every", 0, default=20)
    if config.sharding in ("fsdp", "zero3"):
        every = 0  # no process has the whole model, and only the first one evaluates
    policy, most = load_tokenizer(config.policy), parse_int(spec, "held_out", 0, default=200)
    examples = select_short_prompts(held_out_examples(config), policy, config.longest_prompt, most)
    rollouts = 2 * len(examples) * sum(samples for _, samples, _ in MODES)
    pace = RunProgress(config, every, min(WATCHED, len(examples)), rollouts)
    watch = Watch(config.out, examples, policy, pace, tell)
    storing = None
    if is_first():
        step = tell_history(config, watch, tell)
        storing = RolloutUploader(config.out / "rollouts", folder.name, step, tell)
        storing.tell_before(step)
    on_event = EventAdapter(tell, pace, storing)
    try:
        trained = train(config, on_event, stop=tell.stop, evaluate=watch, evaluate_every=every)
    except RunMismatch as error:
        raise JobRefusedError("This run was begun with other settings or data. Launch a new run.") from error
    finally:
        if storing:
            storing.finish()
    if trained.ended == "stopped":
        raise JobStopped
    result: Result = {"steps": trained.step, "seconds": trained.seconds, "ended": trained.ended}
    if examples and is_first():
        result |= Comparison(config.out, examples, pace, tell).result(config.policy, trained.policy)
    return result


def settings(spec: Mapping[str, Any], folder: Path) -> GRPORun:
    """Return the run that the specification asks for. Raises JobRefusedError."""
    from ..config.grpo import GRPORun

    return run_of(GRPORun, spec, folder, LEAST, ABOVE_0, JOB_DEFAULTS)


def held_out_examples(config: GRPORun | SupervisedRun) -> list[Example]:
    path = config.data.with_name("held_out.jsonl")
    return list(read_lines(Example, path)) if path.exists() else []


def tell_history(config: GRPORun | SupervisedRun, watch: Watch, tell: EventLog) -> int:
    """Report again what earlier attempts did, as they may not have reported it. Return the step to resume from."""
    from ..training.run_folder import RunFolder

    folder = RunFolder(config.out)
    start = folder.newest()
    step = start.step if start else 0
    tell("rewound", step=step)
    for line in folder.read_metrics() if folder.metrics.exists() else ():
        if line["step"] <= step:
            tell.spool.write("step", **line)  # the log has it from the attempt before
    watch.rewind(step)
    if start:
        tell("checkpoint", step=step, bytes=size_of(start.folder))
    return step


class EventAdapter:
    """Adapter that reports the trainer's events and the remaining time."""

    headline = "reward"  # the metric in the progress line

    def __init__(self, tell: EventLog, pace: RunProgress, storing: RolloutUploader | None = None):
        self.tell, self.pace, self.storing = tell, pace, storing

    def __call__(self, event: dict[str, Any]) -> None:
        data = {name: value for name, value in event.items() if name != "event"}
        if event["event"] == "step":
            self.pace.record_step(data)
            self.tell("step", **data)
            self.progress(data)
        elif event["event"] == "rollouts" and self.storing:
            self.storing.on_stored(data)
        elif event["event"] == "checkpoint":
            self.tell("checkpoint", step=data["step"], bytes=size_of(Path(data["path"])))

    def progress(self, line: Mapping[str, Any]) -> None:
        if self.tell.stop.requested:
            return  # the trainer sees the request too, and writes a checkpoint first
        found = line.get(self.headline)
        score = f"{self.headline} {found:.2f}" if found is not None else "no scored rollout"
        text = f"step {line['step']} of at most {self.pace.config.max_steps}, {score}"
        self.tell.progress(**self.pace.describe_progress(text))


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
