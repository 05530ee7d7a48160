"""Callback for the trainers of transformers and TRL that logs them as a live run on the site.

    from training_worker.client import Studio
    from training_worker.client.callback import ProveCallback

    demo = Studio("https://studio.example.org").project("acme", "demo")
    trainer = GRPOTrainer(..., callbacks=[ProveCallback(demo, "Mine, with a longer context")])

It never stops or slows training: if the site does not answer, it warns once and stores the log in `prove/` of the
output folder, from where it is sent later. A run that somebody stops on the site ends after its current step.
Evaluation metrics, `eval_...`, are logged as held-out metrics; a TRL metric that this site has too gets this site's
name. With `reward_funcs=callback.wrap_reward_funcs([...])` TRL's trainers also log the rollouts of each step, from the
main process.
"""

from __future__ import annotations

import platform
from math import isfinite
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from .project import Project
from .run_logger import RunLogger
from .trl_capture import Watch

HELD_OUT = "eval_"
OURS = {  # TRL's name of a metric -> this site's name of it
    "reward_std": "reward_deviation",  # over all rewards of the step; this site's `reward_std` is over groups
    "frac_reward_zero_std": "zero_variance",
    "completions/mean_length": "completion_tokens",
    "completions/max_length": "completion_tokens_max",
    "completions/clipped_ratio": "truncated",
    "clip_ratio/region_mean": "clipped",
    "clip_ratio/low_mean": "clipped_low",
    "clip_ratio/high_mean": "clipped_high",
    "tools/call_frequency": "calls",
    "tools/failure_frequency": "tool_failures",
    "mean_token_accuracy": "token_accuracy",
    "step_time": "step_s",
}


class ProveCallback(TrainerCallback):
    """Trainer callback that logs a run.

    `config` is added to the trainer's own arguments; `fields` are those of a run, such as `tags` and `notes`.
    """

    def __init__(self, project: Project, name: str = "", config: dict[str, Any] | None = None, **fields: Any) -> None:
        self.project, self.name, self.config, self.fields = project, name, config or {}, fields
        self.teller: RunLogger | None = None
        self.watch, self.weights = Watch(), dict[str, float]()

    def wrap_reward_funcs(self, reward_funcs: Any) -> Any:
        """Wrap TRL's `reward_funcs`, so that the rollouts of each step are logged with each function's reward."""
        return self.watch.wrap_functions(reward_funcs)

    def on_train_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        self.watch.clear()
        if not state.is_world_process_zero:
            return
        self.weights = dict(zip(self.watch.names, getattr(args, "reward_weights", None) or (), strict=False))
        config = {**select_scalar_settings(args.to_dict()), **model_of(rest.get("model")), **self.config}
        fields = {"config": config, "host": platform.node()[:200], **self.fields}
        if state.max_steps > 0:
            fields["total_steps"] = state.max_steps
        name = (self.name or args.run_name or Path(args.output_dir).name or "Training")[:80]
        self.teller = RunLogger(
            self.project, name, Path(args.output_dir) / "prove", goes_on=state.global_step > 0, **fields
        )

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **rest: Any) -> None:
        if self.teller is None or not logs:
            return
        measured = {name.removeprefix(HELD_OUT): value for name, value in logs.items() if name.startswith(HELD_OUT)}
        metrics = {name: value for name, value in logs.items() if not name.startswith(HELD_OUT)}
        self.teller.log(state.global_step, rename_metrics(measured), held_out=True)
        self.teller.log(state.global_step, rename_metrics(metrics))

    def on_prediction_step(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        self.watch.clear()  # completions of an evaluation are not rollouts of a step

    def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> Any:
        groups = self.watch.take(self.weights)
        if self.teller is not None and groups:
            self.teller.rollouts(state.global_step, groups)
        if self.teller is not None and self.teller.stop.is_set():
            control.should_training_stop = True
        return control

    def on_train_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        if self.teller is not None:
            self.teller.end("stopped" if self.teller.stop.is_set() else "done")


def rename_metrics(metrics: dict[str, Any]) -> dict[str, Any]:
    return {OURS.get(name, name): value for name, value in metrics.items()}


def select_scalar_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with a single, finite value."""
    known = {name: value for name, value in settings.items() if isinstance(value, str | int | float | bool)}
    return {name: value for name, value in known.items() if not isinstance(value, float) or isfinite(value)}


def model_of(model: Any) -> dict[str, Any]:
    name = getattr(getattr(model, "config", None), "_name_or_path", "") if model is not None else ""
    return {"model": str(name)} if name else {}
