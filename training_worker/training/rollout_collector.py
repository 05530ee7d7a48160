"""The rollouts of one step: prompts are drawn, groups are sampled and stored, and TRL gets the batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from math import fsum, isnan
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast

from ..config.grpo import GRPORun
from ..core.trajectory import Example
from ..environment.episode import Attempt
from ..policy.conversation import prompt_ids
from ..policy.model_families import family_of
from ..policy.token_text import piece_of
from ..rollout.backends import Backend, backend_for
from ..rollout.backends.vllm import VLLMBackend
from ..rollout.generate import Conversation, Sample, sample
from . import distributed
from .device import unwrap_lora
from .dynamic_sampling import (
    CollectedGroups,
    Group,
    advantages_of,
    collect,
    has_signal,
    pass_rate,
    split_by_signal,
    token_advantages,
)
from .grpo_trainer import NotFinite, as_batch
from .live_rollout import Watch
from .metrics import Metrics, invalid
from .prompt_sampler import PromptSampler, read_state, write_state
from .run_folder import RunFolder
from .step_timing import compute_rollout_metrics
from .token_advantages import Choices, call_finder, choices_of

Try = Callable[[Example], Conversation]


def attempt_of(config: GRPORun, tokenizer: PreTrainedTokenizerFast, share: float = 0.0) -> Try:
    """Return the factory of this model's episodes, with the reward at this share of the run."""
    return partial(Attempt, format=family_of(tokenizer).format, reward=config.reward.interpolate_tau(share))


class Player:
    """The collector of every step's groups on this process, with at most `rows` rollouts at once."""

    def __init__(
        self,
        config: GRPORun,
        tokenizer: PreTrainedTokenizerFast,
        examples: Sequence[Example],
        attempt: Try | None,
        folder: RunFolder,
        rows: int = 64,
    ):
        self.config, self.tokenizer, self.folder, self.rows = config, tokenizer, folder, rows
        self.watch = Watch(folder.path, on=distributed.is_first())
        self.given, self.attempt = attempt, attempt or attempt_of(config, tokenizer)
        self.sampler = PromptSampler(config, examples, self.has_fitting_prompt)
        self.generator = torch.Generator().manual_seed(config.seed + distributed.rank())
        self.has_call = call_finder(tokenizer)
        self.choices: list[Choices] = []  # of the latest batch of this process
        self.batch: list[str] = []  # the examples of the latest batch, for error messages

    def has_fitting_prompt(self, example: Example) -> bool:
        episode = self.attempt(example)
        return len(prompt_ids(self.tokenizer, episode.opening, episode.tools)) <= self.config.longest_prompt

    def play(self, trainer: Any, count: int, step: int) -> tuple[dict[str, list[Any]], Metrics]:
        """Return a batch of `count` groups of this process for TRL, and the metrics of the step's whole batch."""
        began, config = time.perf_counter(), self.config
        share = (step - 1) / config.max_steps
        self.attempt = self.given or attempt_of(config, self.tokenizer, share)
        self.watch.begin(step)
        found = collect(
            config,
            count,
            partial(self.draw, share=share),
            partial(self.generate_groups, trainer),
            distributed.gather_values,
        )
        void = (lambda members: not has_signal(members, config)) if config.zero_variance != "keep" else None
        flat = list(chain.from_iterable(found.groups))
        self.choices = [choices_of(one.completion_ids, one.env_mask, self.has_call) for one in flat]
        batch = as_batch(flat, config.group, mask_truncated=config.mask_truncated, **({"void": void} if void else {}))
        rates = [(members[0].rollout.example, pass_rate(members)) for members in found.sampled if not invalid(members)]
        self.sampler.learn(chain.from_iterable(distributed.gather_values(rates)))
        return batch, self.record(distributed.gather_values(found), step, time.perf_counter() - began)

    def draw(self, lacking: Sequence[int], share: float) -> list[Example]:
        """Return this process's part of the next prompts; every process draws all of them."""
        drawn, before = self.sampler.draw(sum(lacking), share), sum(lacking[: distributed.rank()])
        self.batch = [*(self.batch if before or lacking[0] < self.config.prompts else ()), *(one.id for one in drawn)]
        return drawn[before : before + lacking[distributed.rank()]]

    def generate_groups(self, trainer: Any, examples: Sequence[Example]) -> list[Group]:
        """Return the groups of these examples. Raises NoBackend and NotFinite."""
        size = self.config.group
        try:
            attempt = self.watch.wrap_episode_factory(self.attempt)
            samples = rollouts(self.config, trainer, self.tokenizer, examples, self.generator, attempt, self.rows)
        except RuntimeError as error:
            if is_nonfinite_error(error):
                raise NotFinite("policy", trainer.state.global_step + 1) from None
            raise
        if any(isnan(logprob) for one in samples for logprob in one.logprobs):
            raise NotFinite("policy", trainer.state.global_step + 1)
        return [samples[i : i + size] for i in range(0, len(samples), size)]

    def record(self, found: Sequence[CollectedGroups], step: int, seconds: float) -> Metrics:
        """Store the rollouts of all processes, and return their metrics."""
        config = self.config
        groups = [members for part in found for members in part.groups]
        wasted = [members for part in found for members in part.wasted]
        samples = list(chain.from_iterable([*groups, *wasted]))
        if distributed.is_first():
            earned, by_token = advantages_of(groups, config), token_advantages(groups, config, self.has_call)
            if config.credit == "branch":  # a rollout then has no single advantage, but the sum of its tokens'
                earned = [None if one is None else fsum(row) for one, row in zip(earned, by_token, strict=True)]
            self.folder.keep_rollouts(
                step,
                samples,
                [*earned, *[None] * (len(samples) - len(earned))],
                [*by_token, *([0.0] * len(one.completion_ids) for one in samples[len(earned) :])],
                config.group,
                tokens=config.keep_tokens,
                piece=piece_of(self.tokenizer),
            )
            self.watch.mark_stored(samples)
        line = compute_rollout_metrics(samples, config.group, seconds, len(found))
        if config.zero_variance != "keep":
            dead = len(split_by_signal(groups, config)[1])
            vain = {"wasted_rollouts": len(wasted) * config.group, "wasted_s": max(part.seconds for part in found)}
            line |= {"dropped_groups": dead, **vain}
        if config.difficulty == "pools":
            line |= self.sampler.pools()
        return line

    def state(self) -> dict[str, Any]:
        """Return everything needed to resume, as JSON; every process has to call it."""
        states = distributed.gather_values(write_state(self.generator))
        return {"generator": states[0], "generators": states, "asking": self.sampler.state()}

    def restore(self, progress: dict[str, Any]) -> None:
        """Restore a checkpoint; one that older code wrote used plain rounds."""
        states = progress.get("generators") or [progress["generator"]]
        self.generator.set_state(read_state(states[distributed.rank()]))
        if "asking" in progress:
            self.sampler.restore(progress["asking"])
        else:
            self.sampler.narrow()
            self.sampler.draw(int(progress["step"]) * self.config.prompts)


def rollouts(
    config: GRPORun,
    trainer: Any,
    tokenizer: PreTrainedTokenizerFast,
    examples: Sequence[Example],
    generator: torch.Generator,
    attempt: Try,
    rows: int,
) -> list[Sample]:
    """Sample one group after the other, on the backend that the run names. Raises NoBackend."""
    model = unwrap_lora(trainer.accelerator.unwrap_model(trainer.model))
    backend: Backend
    if config.backend == "vllm":  # TRL has sent the weights already
        backend = VLLMBackend(trainer.vllm_generation, family_of(tokenizer).stop, config.temperature, push=False)
    else:
        temperature = config.temperature
        backend = backend_for(model, tokenizer, config.backend, temperature=temperature, generator=generator, rows=rows)
    return sample(
        model,
        tokenizer,
        examples,
        config.group,
        temperature=config.temperature,
        generator=generator,
        limits=config.limits,
        attempt=attempt,
        backend=backend,
    )


def is_nonfinite_error(error: RuntimeError) -> bool:
    """Return whether torch could not sample a token because the policy's probabilities are not finite."""
    return "probability tensor contains" in str(error)
