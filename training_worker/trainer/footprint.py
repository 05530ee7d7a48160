"""How much memory a run will need at least, told before it starts.

Per parameter: the weights; for those that are trained a gradient and AdamW's two moments in fp32; with a KL term and
full training a reference model. Beside them, where a run has rollouts, the keys and values of those that generate
together, at their longest. Activations come on top.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import psutil
import torch
from safetensors import safe_open

from .grpo_run import GRPORun
from .models import UnreadablePolicy, model_under, read_json, weight_files
from .sampler import TokenLimits
from .supervised_run import SupervisedRun

GB = 1e9
MOST_ROWS = 64
EVERYTHING = ("weights", "gradients", "optimizer", "reference")
SPLIT = {"ddp": (), "zero2": ("gradients", "optimizer"), "zero3": EVERYTHING, "fsdp": EVERYTHING}


class TooLarge(UnreadablePolicy):
    """A run that does not fit into the memory there is; the message has the figures."""


@dataclass(frozen=True)
class Footprint:
    """Bytes on one process, by what they hold."""

    weights: float
    gradients: float
    optimizer: float
    reference: float
    cache: float

    @property
    def total(self) -> float:
        return self.weights + self.gradients + self.optimizer + self.reference + self.cache

    def __str__(self) -> str:
        parts = {name: value for name, value in vars(self).items() if value}
        told = ", ".join(f"{name} {value / GB:.1f}" for name, value in parts.items())
        return f"{self.total / GB:.1f} GB ({told})"


def shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """The shape of every weight, read from the headers of its files. Raises UnreadablePolicy."""
    found: dict[str, tuple[int, ...]] = {}
    for path in weight_files(model_under(folder)):
        with safe_open(path, framework="pt") as weights:
            found |= {name: tuple(weights.get_slice(name).get_shape()) for name in weights.keys()}  # noqa: SIM118
    return found


def footprint(
    config: GRPORun | SupervisedRun, weights: dict[str, tuple[int, ...]], model: dict[str, Any], device: str = "cpu"
) -> Footprint:
    """What a run needs at least; `model` is the model's config.json."""
    parameters = sum(map(prod, weights.values()))
    trained, stored = parameters, 4.0
    if config.lora_rank:
        matrices = [shape for name, shape in weights.items() if len(shape) == 2 and not ends(name)]
        trained = config.lora_rank * sum(map(sum, matrices))
        stored = 2.0 if config.precision == "bf16" else 4.0
    needs = {
        "weights": parameters * stored,
        "gradients": trained * 4.0,
        "optimizer": trained * 8.0,
        "reference": 0.0,
    }
    if config.lora_rank:
        needs["weights"] += trained * 4.0
    if isinstance(config, SupervisedRun):
        return Footprint(**needs, cache=0.0)
    if config.beta and not config.lora_rank:
        needs["reference"] = parameters * 4.0
    for name in SPLIT[config.sharding]:
        needs[name] /= config.processes
    rows = min(config.prompts * config.group // config.processes, rows_at_once(config, device))
    return Footprint(**needs, cache=rows * a_row(config, model))


def a_row(config: GRPORun | SupervisedRun, model: dict[str, Any]) -> float:
    """Bytes of the keys and values of one rollout at its longest."""
    heads = int(model.get("num_attention_heads") or 1)
    kv, width = int(model.get("num_key_value_heads") or heads), int(model.get("hidden_size") or 0)
    dim, layers = int(model.get("head_dim") or width // heads), int(model.get("num_hidden_layers") or 0)
    size = 2.0 if config.precision == "bf16" else 4.0
    if isinstance(config, GRPORun):
        tokens = config.longest_prompt + config.limits.completion
    else:
        tokens = config.longest + TokenLimits().completion
    return tokens * layers * 2 * kv * dim * size


def rows_at_once(config: GRPORun | SupervisedRun, device: str) -> int:
    """How many rollouts generate together: as many as a quarter of all memory has room for, at most 64.

    It follows from the machine and not from what is free at the moment, so that a resumed run does the same.
    """
    row = a_row(config, read_json(model_under(config.policy) / "config.json"))
    return max(1, min(MOST_ROWS, int(memory(device) / 4 / row))) if row else MOST_ROWS


def memory(device: str) -> float:
    """Bytes there are, used or not, on the GPU or in the machine."""
    return float(torch.cuda.mem_get_info()[1]) if device == "cuda" else float(psutil.virtual_memory().total)


def ends(name: str) -> bool:
    """Whether a matrix is an embedding or the output layer, which LoRA leaves alone."""
    return "embed_tokens" in name or "lm_head" in name


def available(device: str) -> float:
    """Bytes that are free, on the GPU or in the machine."""
    return float(torch.cuda.mem_get_info()[0]) if device == "cuda" else float(psutil.virtual_memory().available)


def require_memory(config: GRPORun | SupervisedRun, device: str) -> Footprint:
    """What the run needs. Raises TooLarge when that is more than there is, and UnreadablePolicy."""
    needed = footprint(config, shapes(config.policy), read_json(model_under(config.policy) / "config.json"), device)
    free, here = available(device), 1
    remedy = "or take a smaller model"
    if isinstance(config, GRPORun):
        here = 1 if device == "cuda" else config.processes  # processes on one machine share its memory, and no GPU
        remedy = f"lower the group or the completion tokens, use more GPUs, {remedy}"
    if needed.total * here > free:
        each = " for each process" if here > 1 else ""
        raise TooLarge(
            f"{config.policy.name} is too large: this run needs at least {needed}{each}, beside its activations, and "
            f"{free / GB:.1f} GB are free on this {'GPU' if device == 'cuda' else 'machine'}. Train with LoRA "
            f"(lora_rank 8), {remedy}."
        )
    return needed
