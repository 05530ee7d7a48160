"""GRPO on live tool servers: TRL's trainer, our rollouts.

TRL computes advantages, loss and updates; `rollout_func` hands it what the sampler made, token in, token out. The id of an
example travels inside its prompt message, because that is all TRL passes on. Defaults are for two CPU cores.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from datasets import Dataset
from transformers import PrinterCallback, ProgressCallback, Qwen3ForCausalLM, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from ..prove.rollout import Attempt
from ..prove.trajectory import Example, read_lines
from .conversation import prompt_ids
from .grouped import group_logprobs
from .metrics import batch_metrics, invalid, reward_of
from .policy import Policy, load_policy, save_policy
from .run_folder import Checkpoint, RunFolder
from .sampler import Conversation, Sample, TokenLimits, sample
from .stopping import Stop, on_signals

Event = dict[str, Any]
OnEvent = Callable[[Event], None]
Ended = Literal["steps", "minutes", "stopped"]
MAY_CHANGE = {"max_steps", "minutes", "checkpoint_every", "threads"}  # without being another run


@dataclass(frozen=True, kw_only=True)
class GRPORun:
    """One GRPO run. It ends after `max_steps` or `minutes` of training, whichever comes first, across resumes.

    `decay` is the share of the run, at its end, over which the learning rate falls linearly to a tenth.
    """

    policy: Path
    data: Path
    out: Path
    prompts: int = 4
    group: int = 8
    learning_rate: float = 2e-4
    warmup_steps: int = 3
    decay: float = 0.0
    temperature: float = 1.0
    beta: float = 0.0
    clip_low: float = 0.2
    clip_high: float = 0.28
    loss: str = "dapo"
    max_grad_norm: float = 1.0
    longest_prompt: int = 1024
    limits: TokenLimits = field(default_factory=TokenLimits)
    seed: int = 0
    max_steps: int = 350
    minutes: float | None = None
    checkpoint_every: int = 10
    threads: int = 2


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
) -> Trained:
    """Train, or go on from the newest complete checkpoint in `config.out`. Raises RunMismatch and UnreadablePolicy."""
    quiet()
    torch.set_num_threads(config.threads)
    folder = RunFolder(config.out)
    folder.open(identity(config))
    start = folder.newest()
    folder.rewind(start.step if start else 0)
    policy = load_policy(config.policy)
    if start:
        on_event({"event": "resumed", "step": start.step, "seconds": start.progress["seconds"]})
    with on_signals() as signalled:
        loop = Loop(config, policy, folder, on_event, stop or signalled, attempt, start)
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
        self.examples = trainable(config, policy, attempt)
        self.generator = torch.Generator().manual_seed(config.seed)
        self.step, self.seconds = 0, 0.0
        self.batch: dict[str, float] = {}
        if start:
            self.step, self.seconds = start.step, float(start.progress["seconds"])
            self.generator.set_state(read_state(start.progress["generator"]))

    def run(self) -> Ended:
        if (over := self.over()) is None:
            trainer = GroupedTrainer(
                model=self.model,
                reward_funcs=totals,
                args=arguments(self.config, self.folder),
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
        self.perhaps_stop(control)

    def on_save(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        path = self.folder.complete(
            state.global_step, {"seconds": self.seconds, "generator": write_state(self.generator.get_state())}
        )
        self.on_event({"event": "checkpoint", "step": state.global_step, "path": str(path)})

    def perhaps_stop(self, control: Any) -> None:
        if self.stop.requested or self.over():
            control.should_training_stop = control.should_save = True

    def rate(self) -> float:
        """The learning rate's factor: up over the first steps, down over the last share of the run."""
        config, done = self.config, self.step / self.config.max_steps
        if config.minutes:
            done = max(done, self.seconds / 60 / config.minutes)
        down = 1.0 if not config.decay else max(0.1, min(1.0, (1 - done) / config.decay))
        return down * min(1.0, (self.step + 1) / max(1, config.warmup_steps))


class GroupedTrainer(GRPOTrainer):
    """TRL's trainer with a cheaper update, of the same gradient.

    A group's shared prompt is read once (see grouped.py), and without a KL term rollouts with no advantage are not read at
    all: with the dapo loss they add nothing to the gradient. The entropy it logs is that of the others.
    """

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Any:
        if self.beta == 0.0 and self.loss_type == "dapo":
            telling = (inputs["advantages"] != 0) & inputs["tool_mask"].any(1)
            telling[0] |= not telling.any()
            rows = len(telling)
            inputs = {
                name: part[telling] if isinstance(part, torch.Tensor) and part.shape[:1] == (rows,) else part
                for name, part in inputs.items()
            }
        return super()._compute_loss(model, inputs)

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: Any, attention_mask: Any, logits_to_keep: int, *rest: Any, **more: Any
    ) -> tuple[Any, Any, None]:
        def runs(part: slice) -> list[list[int]]:
            ids, mask = input_ids[:, part], attention_mask[:, part].bool()
            return [row[kept].tolist() for row, kept in zip(ids, mask, strict=True)]

        prompts, completions = runs(slice(None, -logits_to_keep)), runs(slice(-logits_to_keep, None))
        plain = self.accelerator.unwrap_model(model)
        logprobs, entropy = group_logprobs(plain, prompts, completions, self.temperature)
        room = (0, logits_to_keep - logprobs.shape[1])
        return torch.nn.functional.pad(logprobs, room), torch.nn.functional.pad(entropy, room), None


def as_batch(samples: Sequence[Sample], group: int) -> dict[str, list[Any]]:
    """What TRL is told: an invalid group has no reward and no token in the loss; a truncated rollout only no token."""
    voided = [invalid(samples[i - i % group : i - i % group + group]) for i in range(len(samples))]
    silent = [void or one.rollout.end == "tokens" for void, one in zip(voided, samples, strict=True)]
    return {
        "prompt_ids": [one.prompt_ids for one in samples],
        "completion_ids": [one.completion_ids for one in samples],
        "logprobs": [one.logprobs for one in samples],
        "env_mask": [
            [0] * len(one.env_mask) if mute else one.env_mask for mute, one in zip(silent, samples, strict=True)
        ],
        "total": [None if void else reward_of(one) for void, one in zip(voided, samples, strict=True)],
    }


def totals(total: list[float | None], **rest: Any) -> list[float | None]:
    """TRL's reward function: the rewards were scored in the rollout."""
    return total


def trainable(config: GRPORun, policy: Policy, attempt: Callable[[Example], Conversation]) -> dict[str, Example]:
    """The training examples whose prompt is short enough, by id. Raises UnreadableData, ValueError."""

    def fits(example: Example) -> bool:
        asked = attempt(example)
        return len(prompt_ids(policy.tokenizer, asked.opening, asked.tools)) <= config.longest_prompt

    found = [example for example in read_lines(Example, config.data) if example.split == "train"]
    kept = {example.id: example for example in found if fits(example)}
    if not kept:
        raise ValueError(f"{config.data} holds no training example of at most {config.longest_prompt} prompt tokens.")
    return kept


def order(config: GRPORun, examples: Sequence[Example]) -> Iterator[dict[str, Any]]:
    """One row per prompt of the whole run: the examples in shuffled rounds; a longer run begins with the same rows."""
    generator = torch.Generator().manual_seed(config.seed)
    left = config.max_steps * config.prompts
    while left > 0:
        for i in torch.randperm(len(examples), generator=generator).tolist()[:left]:
            yield {"prompt": [{"role": "user", "content": examples[i].turns[0], "example": examples[i].id}]}
        left -= len(examples)


def arguments(config: GRPORun, folder: RunFolder) -> GRPOConfig:
    """One update a batch, so that the policy that is updated is the one that spoke."""
    return GRPOConfig(
        output_dir=str(folder.checkpoints),
        per_device_train_batch_size=config.prompts * config.group,
        num_generations=config.group,
        max_completion_length=config.limits.completion,
        max_steps=config.max_steps,
        learning_rate=config.learning_rate,
        lr_scheduler_type="constant",
        temperature=config.temperature,
        beta=config.beta,
        epsilon=config.clip_low,
        epsilon_high=config.clip_high,
        loss_type=config.loss,
        max_grad_norm=config.max_grad_norm,
        adam_beta2=0.99,
        weight_decay=0.0,
        seed=config.seed,
        shuffle_dataset=False,
        logging_steps=1,
        save_strategy="steps",
        save_steps=config.checkpoint_every,
        save_total_limit=2,
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        dataloader_pin_memory=False,
        report_to=[],
        disable_tqdm=True,
    )


def identity(config: GRPORun) -> dict[str, Any]:
    """What makes this run this run and no other: its configuration, and the data and policy it starts from."""
    fields = {
        name: value for name, value in asdict(config).items() if name not in {*MAY_CHANGE, "out", "policy", "data"}
    }
    weights = config.policy / "model.safetensors"
    return {**fields, "data": file_digest(config.data), "policy": file_digest(weights) if weights.exists() else ""}


def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_state(state: torch.Tensor) -> str:
    return base64.b64encode(bytes(state.tolist())).decode()


def read_state(text: str) -> torch.Tensor:
    return torch.tensor(list(base64.b64decode(text)), dtype=torch.uint8)


def quiet() -> None:
    """Keep what the libraries say about their own deprecations, and about voided groups, out of the progress of a run."""
    logging.getLogger("trl").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
