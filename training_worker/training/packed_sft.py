"""Supervised training on demonstrations: the warm-up, and the baseline that GRPO is measured against.

Data come in stages, by share of the budget. Muon updates matrices, and AdamW everything else. The order of the data
depends on the seed alone, so a run with a budget in steps is reproducible, and a killed run resumes where it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.functional import scaled_dot_product_attention as attention

from ..policy.conversation import EncodedConversation
from ..policy.forward import Readable, hidden_states, rotary
from ..policy.malloc import keep_memory
from ..policy.threads import unsplit_operations
from .stop_signal import Stop, on_signals

SHARDS = 4  # parts of the matrices, each with its own optimizer, that threads update at the same time
MIN_RATE = 0.04  # of the peak rate
WINDOW = 8  # batches that are sorted by length together, so that little is padding
OnEvent = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Stage:
    """Conversations to train on during a share of the budget, `batch` at a time."""

    name: str
    data: Sequence[EncodedConversation]
    batch: int
    share: float = 1.0


@dataclass(frozen=True, kw_only=True)
class SFTRun:
    """A supervised run; it ends after `steps` or `minutes` of training, whichever comes first.

    The rate rises over `warmup_steps`, falls linearly over a share `decay` of the run to MIN_RATE of the peak, and
    stays there for the last share `hold`. `prompt_weight` is the loss weight of tokens that are not the model's. Each
    step uses only every `prompt_stride`-th of them, weighted to stand for all. With a `state` file the run survives a
    kill.
    """

    steps: int = 1_000_000
    minutes: float = 1e6
    matrix_rate: float = 0.015
    rate: float = 3e-3
    prompt_weight: float = 0.1
    prompt_stride: int = 4
    warmup_steps: int = 30
    decay: float = 0.4
    hold: float = 0.0
    seed: int = 0
    threads: int = 2
    state: Path | None = None
    save_every_s: float = 60.0
    report_every: int = 20


@dataclass
class Progress:
    """The progress of a run; `batches` counts the batches of each stage, `losses` has the latest loss of each kind."""

    step: int = 0
    seconds: float = 0.0
    tokens: int = 0
    batches: dict[str, int] = field(default_factory=dict)
    losses: dict[str, float] = field(default_factory=dict)

    def share(self, run: SFTRun) -> float:
        return max(self.step / run.steps, self.seconds / 60 / run.minutes)


def fit_model(
    model: Readable,
    stages: Sequence[Stage],
    run: SFTRun,
    on_event: OnEvent,
    *,
    stop: Stop | None = None,
) -> Progress:
    """Train the model in place. A `stop` or a signal ends training after the current step, and the state is saved."""
    torch.set_num_threads(run.threads)
    keep_memory()
    torch.manual_seed(run.seed)
    optimizers = optimizers_for(model, run)
    bases = [group["lr"] for optimizer in optimizers for group in optimizer.param_groups]
    progress = restore(run.state, model, optimizers) or Progress()
    orders = {stage.name: Order(stage, run.seed, number) for number, stage in enumerate(stages)}
    model.train()
    saved = time.perf_counter()
    with nullcontext(stop) if stop else on_signals() as stop, ThreadPoolExecutor(run.threads) as pool:
        while progress.share(run) < 1 and not stop.requested:
            began = time.perf_counter()
            stage = stage_at(stages, progress.share(run))
            count = progress.batches.get(stage.name, 0)
            set_rates(optimizers, bases, run, progress)
            with unsplit_operations() as threads:
                batch = orders[stage.name].batch(count)
                weights = [loss_weights(one, run.prompt_weight, run.prompt_stride, progress.step) for one in batch]
                report = update(model, optimizers, batch, weights, pool, threads)
            progress.batches[stage.name] = count + 1
            progress.step += 1
            progress.tokens += report.tokens
            progress.seconds += time.perf_counter() - began
            progress.losses = {"loss": report.loss, "model_nll": report.model_nll}
            if progress.step % run.report_every == 0:
                on_event({"event": "sft", "stage": stage.name, **summary(progress), "share": progress.share(run)})
            if run.state and time.perf_counter() - saved > run.save_every_s:
                save_state(run.state, model, optimizers, progress)
                saved = time.perf_counter()
    if run.state:
        save_state(run.state, model, optimizers, progress)
    model.eval()
    return progress


def summary(progress: Progress) -> dict[str, Any]:
    speed = progress.tokens / max(progress.seconds, 1e-9)
    return {"step": progress.step, "seconds": progress.seconds, "tokens_per_s": speed, **progress.losses}


def stage_at(stages: Sequence[Stage], share: float) -> Stage:
    """Return the stage that is due at a share of the budget."""
    total, passed = sum(stage.share for stage in stages), 0.0
    for stage in stages:
        passed += stage.share / total
        if share < passed:
            return stage
    return stages[-1]


class Order:
    """The batches of one stage in a fixed order: shuffled epochs, sorted by length inside windows of batches."""

    def __init__(self, stage: Stage, seed: int, number: int):
        if len(stage.data) < stage.batch:
            raise ValueError(f"The stage {stage.name!r} has {len(stage.data)} examples, fewer than one batch.")
        self.stage, self.seed, self.number = stage, seed, number
        self.epoch, self.batches = -1, list[list[int]]()

    def batch(self, count: int) -> list[EncodedConversation]:
        """Return the batch after `count` others."""
        epoch, at = divmod(count, len(self.stage.data) // self.stage.batch)
        if epoch != self.epoch:
            self.epoch, self.batches = epoch, list(self.shuffle_epoch(epoch))
        return [self.stage.data[i] for i in self.batches[at]]

    def shuffle_epoch(self, epoch: int) -> Iterator[list[int]]:
        generator = torch.Generator().manual_seed((self.seed * 1_000 + self.number) * 100_000 + epoch)
        size, total = self.stage.batch, len(self.stage.data) // self.stage.batch * self.stage.batch
        order = torch.randperm(len(self.stage.data), generator=generator).tolist()[:total]
        windows = [order[i : i + WINDOW * size] for i in range(0, total, WINDOW * size)]
        sorted_by_length = [i for window in windows for i in sorted(window, key=lambda i: len(self.stage.data[i].ids))]
        for k in torch.randperm(total // size, generator=generator).tolist():
            yield sorted_by_length[k * size : (k + 1) * size]


@dataclass(frozen=True)
class Update:
    loss: float
    model_nll: float
    tokens: int


def update(
    model: Readable,
    optimizers: Sequence[torch.optim.Optimizer],
    batch: Sequence[EncodedConversation],
    weights: Sequence[Tensor],
    pool: ThreadPoolExecutor,
    threads: int,
) -> Update:
    """Take one step on the weighted mean negative log-likelihood; each thread computes the gradient of its share.

    Two threads that each run their own operations are nearly twice as fast as two threads that split each operation.
    """
    total = sum(float(some.sum()) for some in weights)
    shares = [(batch[at::threads], weights[at::threads]) for at in range(min(threads, len(batch)))]
    trained = [weight for weight in model.parameters() if weight.requires_grad]

    def differentiate(
        share: tuple[Sequence[EncodedConversation], Sequence[Tensor]],
    ) -> tuple[tuple[Tensor, ...], Tensor, Tensor]:
        nll, weight = losses(model, *share)
        loss = (nll * weight).sum() / total
        return torch.autograd.grad(loss, trained), loss.detach(), nll.detach()[weight == 1]

    gradients, parts, spoken = zip(*pool.map(differentiate, shares), strict=True)
    for weight, *summands in zip(trained, *gradients, strict=True):
        weight.grad = torch.stack(summands).sum(0)
    torch.nn.utils.clip_grad_norm_(trained, 1.0)
    list(pool.map(take_step, optimizers))
    return Update(sum(parts).item(), torch.cat(spoken).mean().item(), sum(len(one.ids) for one in batch))


def take_step(optimizer: torch.optim.Optimizer) -> None:
    optimizer.step()
    optimizer.zero_grad()


def loss_weights(one: EncodedConversation, prompt_weight: float, stride: int = 1, step: int = 0) -> Tensor:
    """Return the weight of each token's loss; the first token follows nothing and has weight 0.

    Of the tokens that are not the model's, every `stride`-th has a weight, and the next step takes others. Their mean
    over `stride` steps is `prompt_weight`, and the logits of tokens without a weight are not computed.
    """
    weights = torch.tensor(one.mask, dtype=torch.float)
    due = (torch.arange(len(one.ids)) + step) % stride == 0
    weights = torch.where(weights == 0, prompt_weight * stride * due, weights)
    weights[0] = 0
    return weights


def losses(model: Readable, batch: Sequence[EncodedConversation], weights: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the negative log-likelihood (n,) of each token with a weight, and its weight (n,).

    The conversations are one packed sequence in which each attends only to itself: nothing is padded.
    """
    sizes = [len(one.ids) for one in batch]
    ids = torch.tensor([*chain.from_iterable(one.ids for one in batch)])
    positions = torch.cat([torch.arange(size) for size in sizes])

    def attend(layer: int, *parts: Tensor) -> Tensor:
        rows = zip(*(part.split(sizes, 2) for part in parts), strict=True)
        return torch.cat([attention(q, k, v, is_causal=True, enable_gqa=True) for q, k, v in rows], 2)

    hidden = hidden_states(model, ids[None], positions[None], rotary(model, max(sizes)), attend)[0]
    weight = torch.cat([*weights])
    at = weight.nonzero()[:, 0]
    return cross_entropy(model.lm_head(hidden[at - 1]).float(), ids[at], reduction="none"), weight[at]


def optimizers_for(model: Readable, run: SFTRun) -> list[torch.optim.Optimizer]:
    """Return a Muon for each shard of the matrices, and an AdamW for the rest; a state fits any number of threads.

    The matrices of adapters are not orthogonalised: AdamW updates them.
    """
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    matrices = [p for name, p in trained.items() if p.ndim == 2 and "embed" not in name and "lora" not in name]
    others = [p for name, p in trained.items() if p.ndim != 2 or "embed" in name or "lora" in name]
    return [
        *(
            torch.optim.Muon(matrices[at::SHARDS], lr=run.matrix_rate, weight_decay=0.01)
            for at in range(min(SHARDS, len(matrices)))
        ),
        torch.optim.AdamW(others, lr=run.rate, betas=(0.9, 0.95), weight_decay=0.0),
    ]


def set_rates(
    optimizers: Sequence[torch.optim.Optimizer], bases: Sequence[float], run: SFTRun, progress: Progress
) -> None:
    up = min(1.0, (progress.step + 1) / max(1, run.warmup_steps))
    down = max(MIN_RATE, min(1.0, (1 - run.hold - progress.share(run)) / run.decay)) if run.decay else 1.0
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    for group, base in zip(groups, bases, strict=True):
        group["lr"] = base * up * down


def save_state(path: Path, model: Readable, optimizers: Sequence[torch.optim.Optimizer], progress: Progress) -> None:
    """Write everything needed to resume; the file appears complete or not at all."""
    partial = path.with_name(path.name + ".partial")
    state = {
        "model": {name: weight for name, weight in model.named_parameters() if weight.requires_grad},
        "optimizers": [o.state_dict() for o in optimizers],
        "progress": vars(progress),
    }
    torch.save(state, partial)
    partial.replace(path)


def restore(path: Path | None, model: Readable, optimizers: Sequence[torch.optim.Optimizer]) -> Progress | None:
    """Restore a stored state, if there is one. Only tensors and plain values are read (`weights_only`)."""
    if path is None or not path.exists():
        return None
    state = torch.load(path, weights_only=True)
    model.load_state_dict(state["model"], strict=False)  # frozen and tied weights are not stored
    for optimizer, stored in zip(optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(stored)
    return Progress(**state["progress"])
