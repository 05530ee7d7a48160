"""Lower bounds of a run's memory, by plain arithmetic; the trainer refuses runs by them, and pages show them.

Per parameter: the weights; for trained parameters a gradient and AdamW's two moments in fp32; with a KL term and full
training a reference model. For runs with rollouts also the keys and values of the rollouts that are generated together,
at maximum length. A CPU process also holds Python and its libraries. Activations, of one group of rollouts at a time,
are not included.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

GB = 1e9
PROCESS = 0.55 * GB  # Python, torch and the training libraries after import (measured; docs/benchmarks.md)
MOST_ROWS = 256
LONGEST_HEADER = 100_000_000  # bytes
EVERYTHING = ("weights", "gradients", "optimizer", "reference")
SPLIT = {"ddp": (), "zero2": ("gradients", "optimizer"), "zero3": EVERYTHING, "fsdp": EVERYTHING}
CHECKPOINTS = 3  # checkpoints that a run keeps: the last two, and the best
FINAL_NORM = {"model.norm.weight", "norm.weight"}  # names of the norm before the output, in all our families
Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Footprint:
    """Memory of one process in bytes, by use."""

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
        details = ", ".join(f"{name} {value / GB:.1f}" for name, value in parts.items())
        return f"{self.total / GB:.1f} GB ({details})"


@dataclass(frozen=True)
class Plan:
    """The settings of a run that its memory depends on; `tokens` per row at maximum length, `rows` per process."""

    precision: str = "fp32"
    lora_rank: int = 0
    trainable: str = "all"
    beta: float = 0.0
    sharding: str = "ddp"
    processes: int = 1
    tokens: int = 0
    rows: int = 0  # 0 for a run without rollouts


def count_trainable_parameters(weights: Shapes, plan: Plan) -> float:
    """Return the number of trained parameters."""
    if not plan.lora_rank:
        trained = [shape for name, shape in weights.items() if plan.trainable == "all" or name in FINAL_NORM]
        return float(sum(map(prod, trained)))
    matrices = [shape for name, shape in weights.items() if len(shape) == 2 and not ends(name)]
    return float(plan.lora_rank * sum(map(sum, matrices)))


def footprint(weights: Shapes, plan: Plan, model: Mapping[str, Any], memory: float) -> Footprint:
    """Return the minimum memory of a run; `model` is its config.json, `memory` the device's total memory in bytes."""
    parameters, learned = float(sum(map(prod, weights.values()))), count_trainable_parameters(weights, plan)
    stored = 2.0 if plan.lora_rank and plan.precision == "bf16" else 4.0
    needs = {
        "weights": parameters * stored + (learned * 4.0 if plan.lora_rank else 0.0),
        "gradients": learned * 4.0,
        "optimizer": learned * 8.0,
        "reference": 0.0,
    }
    if not plan.rows:
        return Footprint(**needs, cache=0.0)
    if plan.beta and not plan.lora_rank:
        needs["reference"] = parameters * 4.0
    for name in SPLIT[plan.sharding]:
        needs[name] /= plan.processes
    return Footprint(**needs, cache=min(plan.rows, rows_at_once(plan, model, memory)) * a_row(plan, model))


def a_row(plan: Plan, model: Mapping[str, Any]) -> float:
    """Return the bytes of the keys and values of one rollout at maximum length."""
    heads = int(model.get("num_attention_heads") or 1)
    kv, width = int(model.get("num_key_value_heads") or heads), int(model.get("hidden_size") or 0)
    dim, layers = int(model.get("head_dim") or width // heads), int(model.get("num_hidden_layers") or 0)
    size = 2.0 if plan.precision == "bf16" else 4.0
    return plan.tokens * layers * 2 * kv * dim * size


def rows_at_once(plan: Plan, model: Mapping[str, Any], memory: float) -> int:
    """Return how many rollouts are generated together: as many as fit into a quarter of all memory, at most 256.

    The number depends on the total and not on the free memory, so that a resumed run does the same.
    """
    row = a_row(plan, model)
    return max(1, min(MOST_ROWS, int(memory / 4 / row))) if row else MOST_ROWS


def on_disk(weights: Shapes, plan: Plan) -> float:
    """Return the bytes of the checkpoints that a run keeps, in fp32.

    Each has the weights, or with LoRA those of the adapter, and AdamW's two moments of the trained ones.
    """
    learned = count_trainable_parameters(weights, plan)
    stored = learned if plan.lora_rank else float(sum(map(prod, weights.values())))
    return CHECKPOINTS * (4.0 * stored + 8.0 * learned)


def ends(name: str) -> bool:
    """Return whether a matrix is an embedding or the output layer, to which LoRA is not applied."""
    return "embed_tokens" in name or "lm_head" in name


def shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return the shape of every weight of a model, from its safetensors headers. Raises OSError and ValueError."""
    found: dict[str, tuple[int, ...]] = {}
    for path in sorted(folder.glob("*.safetensors")):
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > LONGEST_HEADER:
                raise ValueError(f"{path} is not a safetensors file")
            header = json.loads(file.read(length))
        found |= {name: tuple(map(int, each["shape"])) for name, each in header.items() if name != "__metadata__"}
    return found
