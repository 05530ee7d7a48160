"""Rejection-sampling fine-tuning: sample rollouts, train on those that succeed, and sample again (arXiv 2308.01825).

It is a control for GRPO that sees the same live worlds and learns only from full successes: no group, no advantage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import torch

from ..core.trajectory import Example
from ..policy.conversation import EncodedConversation
from ..policy.policy_folder import Policy, load_policy, save_policy
from ..policy.prompts import prompt_length
from ..reward.success import is_success
from ..rollout.generate import Sample, sample
from .grpo import TrainingResult
from .grpo_callback import Ended, OnEvent
from .packed_sft import SFTRun, Stage, fit_model
from .sft_trainer import training_examples
from .stop_signal import Stop, on_signals

PORTION = 8  # prompts whose rollouts run together


@dataclass(frozen=True, kw_only=True)
class RejectionRun:
    """Rounds of `prompts` x `samples` rollouts, each followed by `epochs` over at most `most` successes of a prompt.

    The learning rates are constant. The run ends when `minutes` of sampling and training are over.
    """

    policy: Path
    data: Path
    out: Path
    minutes: float
    prompts: int = 64
    samples: int = 8
    most: int = 2
    epochs: int = 2
    batch: int = 6
    matrix_rate: float = 3e-4  # about where the warm-up ended; ten times this rate undid it within minutes
    rate: float = 6e-5
    longest_prompt: int = 1024
    seed: int = 0
    threads: int = 2


def train_on_successes(run: RejectionRun, on_event: OnEvent, *, stop: Stop | None = None) -> TrainingResult:
    """Train, or resume after the last round whose policy lies in `run.out`. Raises UnreadablePolicy."""
    torch.set_num_threads(run.threads)
    target = run.out / "policy"
    resumes = (target / "card.json").is_file()
    policy = load_policy(target if resumes else run.policy)
    number, seconds = (int(policy.card["rounds"]), float(policy.card["seconds"])) if resumes else (0, 0.0)
    examples = [one for one in training_examples(run.data) if has_fitting_prompt(policy, one, run.longest_prompt)]
    with nullcontext(stop) if stop else on_signals() as stop:
        while seconds < 60 * run.minutes and not stop.requested:
            began = perf_counter()
            generator = torch.Generator().manual_seed(run.seed * 100_000 + number)
            chosen = torch.randperm(len(examples), generator=generator)[: run.prompts].tolist()
            successes, left = list[EncodedConversation](), 60 * run.minutes - seconds
            for start in range(0, len(chosen), PORTION):
                prompts = [examples[at] for at in chosen[start : start + PORTION]]
                made = sample(policy.model, policy.tokenizer, prompts, run.samples, generator=generator)
                successes += select_successes(made, run.samples, run.most)
                if stop.requested or perf_counter() - began > left:
                    break
            left -= perf_counter() - began
            if len(successes) >= run.batch and left > 0:
                fit_model(
                    policy.model,
                    [Stage("successes", successes, run.batch)],
                    SFTRun(
                        steps=run.epochs * len(successes) // run.batch,
                        minutes=left / 60,
                        matrix_rate=run.matrix_rate,
                        rate=run.rate,
                        prompt_weight=0.0,
                        warmup_steps=3,
                        decay=0.0,
                        seed=run.seed + number,
                        threads=run.threads,
                    ),
                    lambda event: None,
                    stop=stop,
                )
            number, seconds = number + 1, seconds + perf_counter() - began
            card = {"made_by": "rejection", "rounds": number, "seconds": seconds, "from": str(run.policy)}
            save_policy(target, policy.model, policy.tokenizer, card)
            on_event({"event": "round", "round": number, "seconds": seconds, "successes": len(successes)})
        ended: Ended = "stopped" if stop.requested else "minutes"
    return TrainingResult(number, seconds, ended, target)


def has_fitting_prompt(policy: Policy, example: Example, longest: int) -> bool:
    return prompt_length(policy.tokenizer, example) <= longest


def select_successes(samples: Sequence[Sample], group: int, most: int) -> Iterator[EncodedConversation]:
    """Yield at most `most` different successes of each prompt, with the loss on the policy's tokens."""
    for start in range(0, len(samples), group):
        successes = [
            one for one in samples[start : start + group] if one.rollout.reward and is_success(one.rollout.reward)
        ]
        different = {tuple(one.completion_ids): one for one in successes}
        yield from (one.encode() for one in [*different.values()][:most])
