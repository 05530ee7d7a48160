"""Evaluation settings for a run's policies: the device, the rollouts per batch and their token limits.

They follow from the run's settings, so that evaluations during a run and at its end are comparable.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast

from ..config.grpo import GRPORun, TokenLimits
from ..config.sft import SupervisedRun
from ..core.trajectory import Example
from ..policy.policy_folder import Policy, load_policy
from ..rollout.backends.vllm import Generation
from .device import device_of
from .evaluate import Rollouts, evaluate
from .footprint import rows_at_once

TOGETHER = 1_024  # rollouts of a batch on a GPU


@dataclass(frozen=True)
class EvaluationConfig:
    """Evaluation settings; `rows` conversations fit into the cache of `device` at once, in float32.

    On a GPU a batch has many more: when one ends, a waiting one takes its place, and only the last ones leave the GPU
    half empty.
    """

    device: str
    rows: int
    limits: TokenLimits

    def load(self, folder: Path) -> Policy:
        """Load a policy onto the device, after freeing what was trained there before. Raises UnreadablePolicy."""
        if self.device == "cuda":
            gc.collect()
            torch.cuda.empty_cache()
        policy = load_policy(folder)
        return replace(policy, model=policy.model.to(self.device))

    def rollouts(
        self,
        model: Any,
        tokenizer: PreTrainedTokenizerFast,
        examples: Sequence[Example],
        samples: int = 1,
        temperature: float = 1.0,
        seed: int = 0,
        vllm: Generation | None = None,
    ) -> Rollouts:
        """Return rollouts (see `evaluate`); vLLM, if given, gets the model's weights and generates.

        Raises NoBackend.
        """
        how: Any = {"backend": "vllm", "vllm": vllm} if vllm else {"rows": self.rows}
        if self.device == "cuda":
            how["together"] = TOGETHER
        return evaluate(model, tokenizer, examples, samples, temperature, seed, limits=self.limits, **how)


def build_evaluation_config(config: GRPORun | SupervisedRun) -> EvaluationConfig:
    """Return the evaluation settings of a run. Raises SettingsError and UnreadablePolicy."""
    device = device_of(config)
    limits = config.limits if isinstance(config, GRPORun) else TokenLimits()
    return EvaluationConfig(device, rows_at_once(replace(config, precision="fp32"), device), limits)
