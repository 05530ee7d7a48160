"""The check that a run fits into this machine's memory, made before it starts: see config/memory_estimate.py."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import torch
from safetensors import safe_open

from ..config import memory_estimate as arithmetic
from ..config.grpo import GRPORun, TokenLimits
from ..config.memory_estimate import GB, Footprint, Plan
from ..config.sft import SupervisedRun
from ..policy.models import UnreadablePolicy, model_under, read_json, weight_files


class TooLarge(UnreadablePolicy):
    """A run that does not fit into the available memory; the message has the figures."""


def shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return the shape of every weight, read from the headers of its files. Raises UnreadablePolicy."""
    found: dict[str, tuple[int, ...]] = {}
    for path in weight_files(model_under(folder)):
        with safe_open(path, framework="pt") as weights:
            found |= {name: tuple(weights.get_slice(name).get_shape()) for name in weights.keys()}  # noqa: SIM118
    return found


def plan_of(config: GRPORun | SupervisedRun) -> Plan:
    if isinstance(config, SupervisedRun):
        return Plan(config.precision, config.lora_rank, tokens=config.longest + TokenLimits().completion)
    return Plan(
        precision=config.precision,
        lora_rank=config.lora_rank,
        trainable=config.trainable,
        beta=config.beta,
        sharding=config.sharding,
        processes=config.processes,
        tokens=config.longest_prompt + config.limits.completion,
        rows=config.prompts * config.group // config.processes,
    )


def footprint(
    config: GRPORun | SupervisedRun, weights: dict[str, tuple[int, ...]], model: dict[str, Any], device: str = "cpu"
) -> Footprint:
    """Return the least memory that a run needs; `model` is the model's config.json."""
    return arithmetic.footprint(weights, plan_of(config), model, for_cache(config, weights, model, device))


def rows_at_once(config: GRPORun | SupervisedRun, device: str) -> int:
    """Return how many rollouts generate together."""
    model = read_json(model_under(config.policy) / "config.json")
    return arithmetic.rows_at_once(plan_of(config), model, for_cache(config, shapes(config.policy), model, device))


def for_cache(
    config: GRPORun | SupervisedRun, weights: dict[str, tuple[int, ...]], model: dict[str, Any], device: str
) -> float:
    """Return the memory in bytes of which the cache gets a quarter: all of the device's memory.

    A GPU serves nothing else and is used better with more rows at once, so there the cache gets half of what training
    leaves, if that is more.
    """
    there = memory(device)
    if device != "cuda":
        return there
    held = arithmetic.footprint(weights, replace(plan_of(config), rows=0), model, there).total
    return max(there, 2 * (there - held))


def memory(device: str) -> float:
    """Return the total bytes of memory, used or not, of the GPU or the machine."""
    return float(torch.cuda.mem_get_info()[1]) if device == "cuda" else float(psutil.virtual_memory().total)


def available(device: str) -> float:
    """Return the free bytes of memory of the GPU or the machine."""
    return float(torch.cuda.mem_get_info()[0]) if device == "cuda" else float(psutil.virtual_memory().available)


def require_memory(config: GRPORun | SupervisedRun, device: str) -> Footprint:
    """Return what the run needs. Raises TooLarge if that is more than is free, and UnreadablePolicy."""
    needed = footprint(config, shapes(config.policy), read_json(model_under(config.policy) / "config.json"), device)
    free, here = available(device), 1
    remedy = "or use a smaller model"
    if isinstance(config, GRPORun):
        here = 1 if device == "cuda" else config.processes  # processes on one machine share its memory, but no GPU
        remedy = f"lower the group size or the completion tokens, use more GPUs, {remedy}"
    if needed.total * here > free:
        each = " for each process" if here > 1 else ""
        raise TooLarge(
            f"{config.policy.name} is too large: this run needs at least {needed}{each}, without its activations, and "
            f"{free / GB:.1f} GB are free on this {'GPU' if device == 'cuda' else 'machine'}. Train with LoRA "
            f"(lora_rank 8), {remedy}."
        )
    return needed
