"""The callback around TRL's supervised loop: data order, learning rate, reports, checkpoints, and the run's end."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import PrinterCallback, ProgressCallback, TrainerCallback

from ..config.sft import SupervisedRun
from ..core.trajectory import UnreadableData
from ..policy.policy_folder import Policy
from ..policy.trl_imports import SFTConfig, SFTTrainer
from .best_checkpoint import Best
from .demonstrations import Demonstrations
from .device import device_of, unwrap_lora
from .grpo_callback import Ended, Evaluate, Event, OnEvent
from .grpo_trainer import adapter
from .run_folder import Checkpoint, RunFolder
from .stop_signal import EarlyStopping, Stop

NAMES = {"loss": "loss", "grad_norm": "grad_norm", "entropy": "entropy", "mean_token_accuracy": "token_accuracy"}
NAMED = 16  # the most examples that an error about a batch names


class NothingToLearn(UnreadableData):
    """Data with less than one batch of short enough conversations; the message says what to change."""


class NotFinite(UnreadableData):
    """A loss or gradient that is not a number; the message says at which step, and which checkpoint remains."""


class InOrder(SFTTrainer):
    """TRL's trainer with a given order of the data."""

    def __init__(self, *, order: list[int], **rest: Any):
        self.order = order
        super().__init__(**rest)

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        return self.order


class Loop(TrainerCallback):
    """The training callback of one process: counts training time, sets the rate, reports steps, marks checkpoints."""

    def __init__(
        self,
        config: SupervisedRun,
        policy: Policy,
        data: Demonstrations,
        folder: RunFolder,
        on_event: OnEvent,
        stop: Stop,
        start: Checkpoint | None,
    ):
        self.config, self.folder, self.on_event, self.stop = config, folder, on_event, stop
        self.model, self.tokenizer, self.data, self.start = policy.model, policy.tokenizer, data, start
        self.epoch = len(data.encoded) // config.batch  # steps of one
        if not self.epoch:
            raise NothingToLearn(
                f"{config.data.name} has {len(data.encoded)} training conversations of at most {config.longest} tokens "
                f"({data.too_long} are longer), fewer than one batch of {config.batch}. Use a larger dataset, a "
                "smaller batch, or allow longer conversations."
            )
        self.steps = min(config.max_steps, config.epochs * self.epoch)
        self.order = list(data.order(config.batch, config.epochs, config.seed))
        self.step = start.step if start else 0
        self.seconds = float(start.progress["seconds"]) if start else 0.0
        self.evaluate: Evaluate | None = None
        self.evaluate_every = 0
        self.patience = EarlyStopping(config.patience)
        self.patience.restore(start.progress.get("patience", {}) if start else {})
        self.best = Best()
        self.best.restore(start.progress.get("best", {}) if start else {})
        self.tokens = 0.0
        self.times: dict[str, float] = {}

    def run(self) -> Ended:
        trainer = InOrder(
            order=self.order,
            model=self.model,
            args=arguments(self.config, self.folder.checkpoints, self.steps),
            train_dataset=Dataset.from_list(self.data.build_training_rows()),
            processing_class=self.tokenizer,
            peft_config=adapter(self.config),
            callbacks=[self],
        )
        for callback in (PrinterCallback, ProgressCallback):
            trainer.remove_callback(callback)
        self.model = trainer.model
        if (over := self.find_end_reason()) is None:
            trainer.train(resume_from_checkpoint=str(self.start.folder) if self.start else None)
            return self.find_end_reason() or "stopped"
        if self.start:
            trainer._load_from_checkpoint(str(self.start.folder))
        return over

    def find_end_reason(self) -> Ended | None:
        if self.step >= self.steps:
            return "steps"
        if self.config.minutes is not None and self.seconds >= 60 * self.config.minutes:
            return "minutes"
        return "patience" if self.patience.lost else None

    def on_train_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        self.perhaps_evaluate(control)

    def on_step_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        self.began = time.perf_counter()
        self.learning_rate = self.config.learning_rate * self.rate()
        for group in rest["optimizer"].param_groups:
            group["lr"] = self.learning_rate

    def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        took = time.perf_counter() - self.began
        self.seconds += took
        self.step = state.global_step
        self.times = {"step_s": took, "elapsed_s": self.seconds}
        self.perhaps_stop(control)

    def on_log(self, args: Any, state: Any, control: Any, logs: Event | None = None, **rest: Any) -> None:
        if logs is None or "loss" not in logs:
            return
        self.check(logs)
        tokens, self.tokens = logs["num_tokens"] - self.tokens, logs["num_tokens"]
        metrics = {ours: float(logs[theirs]) for theirs, ours in NAMES.items() if logs.get(theirs) is not None}
        line = {"step": self.step, **metrics, "tokens": tokens, "tokens_per_s": tokens / self.times["step_s"]}
        line |= {"epoch": self.step / self.epoch, "learning_rate": self.learning_rate, **self.times}
        self.folder.note(line)
        self.on_event({"event": "step", **line})
        self.perhaps_evaluate(control)
        self.perhaps_stop(control)

    def check(self, logs: Event) -> None:
        """Raise NotFinite before the step is reported or a checkpoint of it is written."""
        for name in ("loss", "grad_norm"):
            if not math.isfinite(float(logs.get(name, 0.0))):
                checkpoint = self.folder.newest()
                raise NotFinite(
                    f"The {name.replace('grad_norm', 'gradient')} of step {self.step} (batch {self.step}, epoch "
                    f"{math.ceil(self.step / self.epoch)}) is not a number. Its conversations: {self.name_batch()}. "
                    + (
                        f"The checkpoint of step {checkpoint.step} is intact. "
                        if checkpoint
                        else "There is no checkpoint yet. "
                    )
                    + "Launch a run with a lower learning rate."
                )

    def name_batch(self) -> str:
        """Return the ids of the examples in this step's batch, as text."""
        last = self.step * self.config.batch
        ids = [self.data.examples[i] for i in self.order[last - self.config.batch : last]]
        return ", ".join(ids[:NAMED]) + (f" and {len(ids) - NAMED} more" if len(ids) > NAMED else "")

    def on_save(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        progress = {"seconds": self.seconds, "patience": self.patience.state(), "best": self.best.state()}
        path = self.folder.complete(state.global_step, progress)
        self.on_event({"event": "checkpoint", "step": state.global_step, "path": str(path)})

    def perhaps_stop(self, control: Any) -> None:
        if self.stop.requested or self.find_end_reason():
            control.should_training_stop = control.should_save = True

    def perhaps_evaluate(self, control: Any) -> None:
        due = self.evaluate_every and self.step % self.evaluate_every == 0
        if self.evaluate and due and not self.stop.requested:
            self.model.eval()
            found = self.evaluate(unwrap_lora(self.model), self.step)
            self.patience.record_value(self.step, found)
            if self.best.record_value(self.step, found):
                control.should_save = True
            self.model.train()

    def rate(self) -> float:
        """Return the learning-rate factor: it rises over the warm-up steps and falls over the last share of the run."""
        config, done = self.config, self.step / self.steps
        if config.minutes:
            done = max(done, self.seconds / 60 / config.minutes)
        down = 1.0 if not config.decay else max(0.1, min(1.0, (1 - done) / config.decay))
        return down * min(1.0, (self.step + 1) / max(1, config.warmup_steps))


def arguments(config: SupervisedRun, checkpoints: Path, steps: int) -> SFTConfig:
    return SFTConfig(
        output_dir=str(checkpoints),
        per_device_train_batch_size=config.batch,
        max_steps=steps,
        learning_rate=config.learning_rate,
        lr_scheduler_type="constant",
        max_grad_norm=config.max_grad_norm,
        weight_decay=0.0,
        seed=config.seed,
        max_length=None,
        packing=False,
        dataset_kwargs={"skip_prepare_dataset": True},
        logging_steps=1,
        logging_nan_inf_filter=False,
        save_strategy="steps",
        save_steps=config.checkpoint_every,
        use_cpu=device_of(config) == "cpu",
        bf16=config.precision == "bf16",
        gradient_checkpointing=config.gradient_checkpointing,
        dataloader_pin_memory=False,
        report_to=[],
        disable_tqdm=True,
    )
