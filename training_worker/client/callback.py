"""A callback for the trainers of transformers and TRL: what they log is a run of the site, live.

    from training_worker.client import Studio
    from training_worker.client.callback import ProveCallback

    demo = Studio("https://studio.example.org").project("acme", "demo")
    trainer = GRPOTrainer(..., callbacks=[ProveCallback(demo, "Mine, with a longer context")])

It never stops or slows training: without the site it warns once, and keeps what was logged in `prove/` of the output
folder, from where it goes to the site later. A run that people ask to stop on the site stops after its step. Metrics of
evaluations, `eval_...`, are held-out ones.
"""

from __future__ import annotations

import platform
from math import isfinite
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from .project import Project
from .telling import Teller

HELD_OUT = "eval_"


class ProveCallback(TrainerCallback):
    """`config` is told beside the trainer's own arguments; `fields` are those of a run, such as `tags` and `notes`."""

    def __init__(self, project: Project, name: str = "", config: dict[str, Any] | None = None, **fields: Any) -> None:
        self.project, self.name, self.config, self.fields = project, name, config or {}, fields
        self.teller: Teller | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        if not state.is_world_process_zero:
            return
        told = {**plain(args.to_dict()), **model_of(rest.get("model")), **self.config}
        fields = {"config": told, "host": platform.node()[:200], **self.fields}
        if state.max_steps > 0:
            fields["total_steps"] = state.max_steps
        name = (self.name or args.run_name or Path(args.output_dir).name or "Training")[:80]
        self.teller = Teller(
            self.project, name, Path(args.output_dir) / "prove", goes_on=state.global_step > 0, **fields
        )

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **rest: Any) -> None:
        if self.teller is None or not logs:
            return
        measured = {name.removeprefix(HELD_OUT): value for name, value in logs.items() if name.startswith(HELD_OUT)}
        self.teller.log(state.global_step, measured, held_out=True)
        self.teller.log(
            state.global_step, {name: value for name, value in logs.items() if not name.startswith(HELD_OUT)}
        )

    def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> Any:
        if self.teller is not None and self.teller.stop.is_set():
            control.should_training_stop = True
        return control

    def on_train_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        if self.teller is not None:
            self.teller.end("stopped" if self.teller.stop.is_set() else "done")


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that are a value each."""
    known = {name: value for name, value in settings.items() if isinstance(value, str | int | float | bool)}
    return {name: value for name, value in known.items() if not isinstance(value, float) or isfinite(value)}


def model_of(model: Any) -> dict[str, Any]:
    name = getattr(getattr(model, "config", None), "_name_or_path", "") if model is not None else ""
    return {"model": str(name)} if name else {}
