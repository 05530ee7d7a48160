"""Launch form fields for the machine: precision, memory, generation backend and processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from .defaults import CORES, SWITCHES
from .form_fields import choice, number, yes_or_no

SHARDED = ("fsdp", "zero2", "zero3")
SPREAD = ("fsdp", "zero3")  # with these, rollouts of unequal length would deadlock waiting for each other


class MachineFields(forms.Form):
    threads = number("Threads", "threads", 1, CORES, f"CPU threads, of {CORES} on this machine. 2 for the tiny policy.")
    device = choice(
        "Device",
        "device",
        (("auto", "Auto"), ("cpu", "CPU"), ("cuda", "GPU")),
        "Auto uses a GPU if the worker has one.",
    )
    precision = choice(
        "Precision",
        "precision",
        (("fp32", "32-bit floats"), ("bf16", "bfloat16")),
        "bfloat16 halves memory on GPUs that support it; slower on most CPUs.",
    )
    gradient_checkpointing = yes_or_no(
        "Gradient checkpointing", "gradient_checkpointing", "Saves memory, takes a third more time. For large models."
    )
    micro_batch = number(
        "Micro-batch size",
        "micro_batch",
        0,
        4096,
        "Rollouts per forward pass of the update; 0 means all. 1 to 8 saves memory.",
    )
    trainable = choice(
        "Trained weights",
        "trainable",
        (("all", "All"), ("final_norm", "Final norm")),
        "Final norm trains only the gains before the output. Needs a high learning rate, such as 0.06.",
    )
    lora_rank = number("LoRA rank", "lora_rank", 0, 1024, "0 for no adapters; 8 to 64 trains adapters only.")
    lora_alpha = number("LoRA alpha", "lora_alpha", 1, 4096, "Scale of the adapters. One or two times the rank.")
    backend = choice(
        "Generation backend",
        "backend",
        (("auto", "Auto"), ("decoder", "Built-in decoder"), ("transformers", "transformers"), ("vllm", "vLLM")),
        "The built-in decoder is for the tiny policy, vLLM for GPUs.",
    )
    vllm_mode = choice(
        "vLLM mode",
        "vllm_mode",
        (("colocate", "Colocate"), ("server", "Server")),
        "vLLM runs beside the trainer or as a separate server.",
    )
    processes = number("Processes", "processes", 1, 64, "One per GPU. They share the prompts of a step.")
    sharding = choice(
        "Weight sharding",
        "sharding",
        (("ddp", "None (DDP)"), ("fsdp", "FSDP"), ("zero2", "ZeRO-2"), ("zero3", "ZeRO-3")),
        "For models that do not fit one GPU.",
    )


NAMES = tuple(MachineFields.base_fields)


def title_of(sharding: str) -> str:
    return str(dict(MachineFields.base_fields["sharding"].choices)[sharding])


def faults(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the errors of conflicting settings by field."""
    found = {}
    processes, sharding = given.get("processes") or 1, given.get("sharding")
    if sharding in SHARDED and processes < 2:
        found["sharding"] = f"{title_of(sharding)} shards weights across processes: set Processes to 2 or more."
    elif sharding in SPREAD and given.get("backend") != "vllm":
        found["sharding"] = f"{title_of(sharding)} requires the vLLM generation backend. Choose vLLM or ZeRO-2."
    if not given.get("lora_rank") and given.get("lora_alpha") not in (None, SWITCHES["lora_alpha"]):
        found["lora_alpha"] = "LoRA alpha requires a LoRA rank above 0. Set a rank or reset alpha to its default."
    if given.get("trainable") == "final_norm" and given.get("lora_rank"):
        found["trainable"] = "LoRA trains its adapters. Choose All, or set the LoRA rank to 0."
    prompts, micro = given.get("prompts") or 0, given.get("micro_batch") or 0
    each = prompts * (given.get("group") or 0) // processes
    if prompts % processes:
        found["processes"] = f"{prompts} prompts per step are not divisible by {processes} processes."
    elif micro and each and each % micro:
        found["micro_batch"] = f"The {each} rollouts per process are not divisible by the micro-batch size {micro}."
    if given.get("backend") == "vllm" and given.get("device") == "cpu":
        found["backend"] = "vLLM requires a GPU. Choose another backend or another device."
    if given.get("vllm_mode") == "server" and given.get("backend") != "vllm":
        found["vllm_mode"] = "The vLLM mode Server requires the vLLM generation backend."
    return found
