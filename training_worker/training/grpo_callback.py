"""The training callback of one process: gives TRL rollouts, counts training time, reports steps, marks checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

import psutil
import torch
from transformers import TrainerCallback

from ..config.grpo import GRPORun
from . import distributed
from .best_checkpoint import Best
from .device import unwrap_lora
from .grpo_trainer import NotFinite, is_finite
from .metrics import Metrics, update_metrics
from .rollout_collector import Player
from .run_folder import Checkpoint, RunFolder
from .step_timing import add_step_timing
from .stop_signal import EarlyStopping, Stop

# Machine metrics of a training run: cores, memory and, where there is one, the GPU.

MEGA = 1e6


class Machine:
    """Readings since the previous one; the first covers the time since construction."""

    def __init__(self) -> None:
        self.process = psutil.Process()
        psutil.cpu_percent()  # the first call only sets the start of the next measurement
        self.marked, self.busy = time.perf_counter(), self.cpu_seconds()

    def cpu_seconds(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def read_usage(self) -> dict[str, float]:
        """Return metrics by the names of monitoring/metrics; those of a GPU only where torch has one."""
        now, busy = time.perf_counter(), self.cpu_seconds()
        cores = (busy - self.busy) / max(1e-9, now - self.marked)
        self.marked, self.busy = now, busy
        return {
            "cpu_process": cores,
            "cpu_machine": psutil.cpu_percent() / 100,
            "memory": self.process.memory_info().rss / MEGA,
            "memory_machine": psutil.virtual_memory().percent / 100,
            **gpu(),
        }


def gpu() -> dict[str, float]:
    """Return load and memory of the GPUs; nothing without a GPU, and no load without NVML's Python package."""
    if not torch.cuda.is_available():
        return {}
    free, total = torch.cuda.mem_get_info()
    peak = torch.cuda.max_memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    found = {"gpu_memory": (total - free) / MEGA, "gpu_memory_peak": peak / MEGA}
    try:
        loads = [torch.cuda.utilization(device) for device in range(torch.cuda.device_count())]
    except (ModuleNotFoundError, RuntimeError):
        return found
    return {**found, "gpu_load": sum(loads) / len(loads) / 100}


Event = dict[str, Any]
OnEvent = Callable[[Event], None]
Evaluate = Callable[..., float | None]  # gets model, step and, if vLLM generates, TRL's object for it
Ended = Literal["steps", "minutes", "stopped", "patience"]


class Loop(TrainerCallback):
    """The callback around TRL's training loop. With several processes, the first one reports, writes and decides."""

    def __init__(self, config: GRPORun, player: Player, folder: RunFolder, on_event: OnEvent, stop: Stop):
        self.config, self.player, self.folder, self.stop = config, player, folder, stop
        self.on_event = on_event if distributed.is_first() else lambda event: None
        self.step, self.seconds = 0, 0.0
        self.evaluate: Evaluate | None = None
        self.evaluate_every = 0
        self.patience, self.best = EarlyStopping(config.patience), Best()
        self.machine, self.batch = Machine(), Metrics()
        self.model: Any = None
        self.vllm: Any = None

    def go_on_from(self, start: Checkpoint) -> None:
        self.step, self.seconds = start.step, float(start.progress["seconds"])
        self.patience.restore(start.progress.get("patience", {}))
        self.best.restore(start.progress.get("best", {}))
        self.player.restore(start.progress)
        self.on_event({"event": "resumed", "step": start.step, "seconds": start.progress["seconds"]})

    def find_end_reason(self) -> Ended | None:
        if self.step >= self.config.max_steps:
            return "steps"
        if self.config.minutes is not None and self.seconds >= 60 * self.config.minutes:
            return "minutes"
        return "patience" if self.patience.lost else None

    def roll_out(self, prompts: Sequence[Any], trainer: Any) -> dict[str, list[Any]]:
        """Return a batch as TRL's `rollout_func`. The run selects the prompts; `prompts` only says how many."""
        batch, self.batch = self.player.play(trainer, len(prompts) // self.config.group, self.step + 1)
        return batch

    def on_train_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        self.perhaps_evaluate(control)

    def on_step_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        self.began = time.perf_counter()
        self.learning_rate = self.config.learning_rate * self.rate()
        for group in rest["optimizer"].param_groups:
            group["lr"] = self.learning_rate

    def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        took = distributed.of_first(time.perf_counter() - self.began)
        self.seconds += took
        self.step = state.global_step
        self.batch = {**add_step_timing(self.batch, took, self.seconds), **self.machine.read_usage()}
        self.perhaps_stop(control)

    def on_log(self, args: Any, state: Any, control: Any, logs: Event | None = None, **rest: Any) -> None:
        if logs is None or "loss" not in logs:
            return
        line = {"step": self.step, **self.batch, **update_metrics(logs)}
        line["learning_rate"] = self.learning_rate
        if distributed.is_first():
            self.folder.note(line)
        self.on_event({"event": "step", **line})
        self.perhaps_stop(control)
        self.perhaps_evaluate(control)

    def on_save(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        """Complete the checkpoint. Raises NotFinite if its weights are not finite; it then stays incomplete."""
        if not is_finite(self.model):
            raise NotFinite("policy", self.step)
        progress = {"seconds": self.seconds, "patience": self.patience.state(), "best": self.best.state()}
        progress |= self.player.state()  # every process has to call it
        if distributed.is_first():
            path = self.folder.complete(state.global_step, progress)
            self.on_event({"event": "checkpoint", "step": state.global_step, "path": str(path)})

    def perhaps_stop(self, control: Any) -> None:
        if distributed.of_first(self.stop.requested) or self.find_end_reason():
            control.should_training_stop = control.should_save = True

    def perhaps_evaluate(self, control: Any) -> None:
        """Evaluate the policy on the first process if it is due; the others wait for the result."""
        due = bool(self.evaluate_every) and self.step % self.evaluate_every == 0
        if not self.evaluate or not due or distributed.of_first(self.stop.requested):
            return
        # one process alone must not call a vLLM that all of them share
        given = {"vllm": self.vllm} if self.vllm and distributed.count() == 1 else {}
        found = self.evaluate(unwrap_lora(self.model), self.step, **given) if distributed.is_first() else None
        found = distributed.of_first(found)
        self.patience.record_value(self.step, found)
        if self.best.record_value(self.step, found):
            control.should_save = True
        if self.find_end_reason():
            control.should_training_stop = control.should_save = True

    def rate(self) -> float:
        """Return the learning-rate factor: it rises over the warm-up steps and falls over the last share of the run."""
        config, done = self.config, self.step / self.config.max_steps
        if config.minutes:
            done = max(done, self.seconds / 60 / config.minutes)
        down = 1.0 if not config.decay else max(0.1, min(1.0, (1 - done) / config.decay))
        return down * min(1.0, (self.step + 1) / max(1, config.warmup_steps))
