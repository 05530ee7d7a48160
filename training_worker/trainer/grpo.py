"""GRPO on live tool servers: TRL's trainer, our rollouts.

TRL computes advantages, loss and updates; `rollout_func` hands it what the sampler made, token in, token out. The id
of an example travels inside its prompt message, because that is all TRL passes on. Defaults are for two CPU cores.
"""

from __future__ import annotations

import base64
import logging
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from datasets import Dataset
from transformers import PrinterCallback, ProgressCallback, Qwen3ForCausalLM, TrainerCallback

from ..prove.rollout import Attempt
from ..prove.trajectory import Example
from .grpo_run import GRPORun, file_digest, identity, order, trainable
from .memory import keep_memory
from .metrics import batch_metrics
from .policy import Policy, load_policy, save_policy
from .run_folder import Checkpoint, RunFolder
from .sampler import Conversation, sample
from .stopping import Stop, on_signals
from .update import GroupedTrainer, arguments, as_batch, totals

__all__ = ["Event", "GRPORun", "Trained", "file_digest", "quiet", "train"]

Event = dict[str, Any]
OnEvent = Callable[[Event], None]
Evaluate = Callable[[Qwen3ForCausalLM, int], None]
Ended = Literal["steps", "minutes", "stopped"]


@dataclass(frozen=True)
class Trained:
    """Where a run ended and why; `policy` is the folder of the trained policy."""

    step: int
    seconds: float
    ended: Ended
    policy: Path


def train(
    config: GRPORun,
    on_event: OnEvent,
    *,
    stop: Stop | None = None,
    attempt: Callable[[Example], Conversation] = Attempt,
    evaluate: Evaluate | None = None,
    evaluate_every: int = 0,
) -> Trained:
    """Train, or go on from the newest complete checkpoint in `config.out`. Raises RunMismatch and UnreadablePolicy.

    `evaluate` is given the policy and the step at step 0 (or where the run goes on) and every so many steps after it;
    its time does not count as training.
    """
    quiet()
    keep_memory()
    torch.set_num_threads(config.threads)
    folder = RunFolder(config.out)
    folder.open(identity(config))
    start = folder.newest()
    folder.rewind(start.step if start else 0)
    policy = load_policy(config.policy)
    if start:
        on_event({"event": "resumed", "step": start.step, "seconds": start.progress["seconds"]})
    with nullcontext(stop) if stop else on_signals() as asked:
        loop = Loop(config, policy, folder, on_event, asked, attempt, start)
        loop.evaluate, loop.evaluate_every = evaluate, evaluate_every
        ended = loop.run()
    target = config.out / "policy"
    card = {
        "made_by": "grpo",
        "run": identity(config),
        "steps": loop.step,
        "seconds": loop.seconds,
        "from": policy.card,
    }
    save_policy(target, loop.model, policy.tokenizer, card)
    on_event({"event": "ended", "step": loop.step, "seconds": loop.seconds, "why": ended})
    return Trained(loop.step, loop.seconds, ended, target)


class Loop(TrainerCallback):
    """One process's part of a run: gives TRL rollouts, counts training time, reports steps, marks checkpoints."""

    def __init__(
        self,
        config: GRPORun,
        policy: Policy,
        folder: RunFolder,
        on_event: OnEvent,
        stop: Stop,
        attempt: Callable[[Example], Conversation],
        start: Checkpoint | None,
    ):
        self.config, self.folder, self.on_event, self.stop, self.attempt = config, folder, on_event, stop, attempt
        self.model, self.tokenizer, self.start = policy.model, policy.tokenizer, start
        self.examples = trainable(config, policy.tokenizer, attempt)
        self.generator = torch.Generator().manual_seed(config.seed)
        self.step, self.seconds = 0, 0.0
        self.evaluate: Evaluate | None = None
        self.evaluate_every = 0
        self.batch: dict[str, float] = {}
        if start:
            self.step, self.seconds = start.step, float(start.progress["seconds"])
            self.generator.set_state(read_state(start.progress["generator"]))

    def run(self) -> Ended:
        if (over := self.over()) is None and not self.stop.requested:
            trainer = GroupedTrainer(
                credit=self.config.credit,
                model=self.model,
                reward_funcs=totals,
                args=arguments(self.config, self.folder.checkpoints),
                train_dataset=Dataset.from_list(list(order(self.config, list(self.examples.values())))),
                processing_class=self.tokenizer,
                rollout_func=self.roll_out,
                callbacks=[self],
            )
            for callback in (PrinterCallback, ProgressCallback):
                trainer.remove_callback(callback)
            trainer.train(resume_from_checkpoint=str(self.start.folder) if self.start else None)
            over = self.over()
        elif self.start:
            self.model = Qwen3ForCausalLM.from_pretrained(self.start.folder, dtype=torch.float32)
        return over or "stopped"

    def over(self) -> Ended | None:
        if self.step >= self.config.max_steps:
            return "steps"
        if self.config.minutes is not None and self.seconds >= 60 * self.config.minutes:
            return "minutes"
        return None

    def roll_out(self, prompts: Sequence[Any], trainer: Any) -> dict[str, list[Any]]:
        """TRL's `rollout_func`: `prompts` come repeated, a group's neighbours together."""
        began, group = time.perf_counter(), self.config.group
        examples = [self.examples[prompt[-1]["example"]] for prompt in prompts[::group]]
        samples = sample(
            self.model,
            self.tokenizer,
            examples,
            group,
            temperature=self.config.temperature,
            generator=self.generator,
            limits=self.config.limits,
            attempt=self.attempt,
        )
        seconds = time.perf_counter() - began
        self.folder.keep_rollouts(self.step + 1, [one.rollout for one in samples])
        tokens = sum(len(one.completion_ids) for one in samples)
        self.batch = {**batch_metrics(samples, group), "rollout_s": seconds, "tokens_per_s": tokens / seconds}
        return as_batch(samples, group)

    def on_train_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        self.perhaps_evaluate()

    def on_step_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        self.began = time.perf_counter()
        self.learning_rate = self.config.learning_rate * self.rate()
        for group in rest["optimizer"].param_groups:
            group["lr"] = self.learning_rate

    def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        took = time.perf_counter() - self.began
        self.seconds += took
        self.step = state.global_step
        self.batch |= {"step_s": took, "update_s": took - self.batch["rollout_s"], "elapsed_s": self.seconds}
        self.perhaps_stop(control)

    def on_log(self, args: Any, state: Any, control: Any, logs: Event | None = None, **rest: Any) -> None:
        if logs is None or "loss" not in logs:
            return
        names = {"loss": "loss", "grad_norm": "grad_norm", "entropy": "entropy", "kl": "kl"}
        told = {ours: float(logs[theirs]) for theirs, ours in names.items() if logs.get(theirs) is not None}
        clipped = logs.get("clip_ratio/region_mean")
        line = {"step": self.step, **self.batch, **told, "clipped": float(clipped or 0)}
        line["learning_rate"] = self.learning_rate
        self.folder.note(line)
        self.on_event({"event": "step", **line})
        self.perhaps_evaluate()
        self.perhaps_stop(control)

    def on_save(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        path = self.folder.complete(
            state.global_step, {"seconds": self.seconds, "generator": write_state(self.generator.get_state())}
        )
        self.on_event({"event": "checkpoint", "step": state.global_step, "path": str(path)})

    def perhaps_stop(self, control: Any) -> None:
        if self.stop.requested or self.over():
            control.should_training_stop = control.should_save = True

    def perhaps_evaluate(self) -> None:
        due = self.evaluate_every and self.step % self.evaluate_every == 0
        if self.evaluate and due and not self.stop.requested:
            self.evaluate(self.model, self.step)

    def rate(self) -> float:
        """The learning rate's factor: up over the first steps, down over the last share of the run."""
        config, done = self.config, self.step / self.config.max_steps
        if config.minutes:
            done = max(done, self.seconds / 60 / config.minutes)
        down = 1.0 if not config.decay else max(0.1, min(1.0, (1 - done) / config.decay))
        return down * min(1.0, (self.step + 1) / max(1, config.warmup_steps))


def write_state(state: torch.Tensor) -> str:
    return base64.b64encode(bytes(state.tolist())).decode()


def read_state(text: str) -> torch.Tensor:
    return torch.tensor(list(base64.b64decode(text)), dtype=torch.uint8)


def quiet() -> None:
    """Keep what the libraries say about their deprecations and about voided groups out of a run's progress."""
    logging.getLogger("trl").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
