"""The part of the launch form about the machine: precision, memory, how rollouts are made, how many processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from .defaults import CORES, SWITCHES
from .form_fields import choice, number, yes_or_no

SHARDED = ("fsdp", "zero2", "zero3")
SPREAD = ("fsdp", "zero3")  # in these, rollouts of unequal length would wait for each other for ever


class MachineFields(forms.Form):
    threads = number("Threads", "threads", 1, CORES, f"Of {CORES} on this machine. 2 for the tiny policy.")
    device = choice(
        "Device",
        "device",
        (("auto", "What there is"), ("cpu", "CPU"), ("cuda", "GPU")),
        "A GPU where the worker has one.",
    )
    precision = choice(
        "Precision",
        "precision",
        (("fp32", "32-bit floats"), ("bf16", "bfloat16")),
        "bfloat16 halves the memory on GPUs that have it; slower on most CPUs.",
    )
    gradient_checkpointing = yes_or_no(
        "Gradient checkpointing", "gradient_checkpointing", "Less memory for a third more time. For large models."
    )
    micro_batch = number(
        "Rollouts a pass",
        "micro_batch",
        0,
        4096,
        "Read by the update at a time; 0: all. 1 to 8 saves memory.",
    )
    lora_rank = number("LoRA rank", "lora_rank", 0, 1024, "0 trains all weights; 8 to 64 trains adapters alone.")
    lora_alpha = number("LoRA alpha", "lora_alpha", 1, 4096, "Scale of the adapters. One or two times the rank.")
    backend = choice(
        "Rollouts by",
        "backend",
        (("auto", "What fits"), ("decoder", "Our decoder"), ("transformers", "transformers"), ("vllm", "vLLM")),
        "Our decoder is for the tiny policy, vLLM for GPUs.",
    )
    vllm_mode = choice(
        "vLLM", "vllm_mode", (("colocate", "Beside the trainer"), ("server", "A server of its own")), "Where it runs."
    )
    processes = number("Processes", "processes", 1, 64, "One a GPU. They share the prompts of a step.")
    sharding = choice(
        "Sharing of weights",
        "sharding",
        (("ddp", "None: each has all"), ("fsdp", "FSDP"), ("zero2", "ZeRO-2"), ("zero3", "ZeRO-3")),
        "For models that do not fit one GPU.",
    )


NAMES = tuple(MachineFields.base_fields)


def title_of(sharding: str) -> str:
    return str(dict(MachineFields.base_fields["sharding"].choices)[sharding])


def faults(given: Mapping[str, Any]) -> dict[str, str]:
    """What does not go together, by field."""
    found = {}
    processes, sharding = given.get("processes") or 1, given.get("sharding")
    if sharding in SHARDED and processes < 2:
        found["sharding"] = (
            f"{title_of(sharding)} shares weights between processes; with one there is nobody to share with."
        )
    elif sharding in SPREAD and given.get("backend") != "vllm":
        found["sharding"] = (
            f"{title_of(sharding)} spreads the weights, and then only vLLM makes rollouts. Or take ZeRO-2."
        )
    if not given.get("lora_rank") and given.get("lora_alpha") not in (None, SWITCHES["lora_alpha"]):
        found["lora_alpha"] = "Alpha scales LoRA's adapters, and a rank of 0 has none. Give a rank, or leave alpha."
    prompts, micro = given.get("prompts") or 0, given.get("micro_batch") or 0
    each = prompts * (given.get("group") or 0) // processes
    if prompts % processes:
        found["processes"] = f"{prompts} prompts a step cannot be shared evenly by {processes} processes."
    elif micro and each and each % micro:
        found["micro_batch"] = f"The {each} rollouts of a process cannot be read {micro} at a time without a rest."
    if given.get("backend") == "vllm" and given.get("device") == "cpu":
        found["backend"] = "vLLM makes rollouts on a GPU. Choose another backend, or a device that is not the CPU."
    if given.get("vllm_mode") == "server" and given.get("backend") != "vllm":
        found["vllm_mode"] = "A vLLM server is used only where rollouts are made by vLLM."
    return found
