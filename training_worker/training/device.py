"""The device of a run, the fast path of the tiny policy, and checks for settings that cannot be combined."""

from __future__ import annotations

import importlib.util
from math import prod
from typing import Any

import torch

from ..config.grpo import GRPORun
from ..config.sft import SupervisedRun
from ..core.trajectory import UnreadableData
from ..rollout.backends.decoder import explain_incompatibility
from .footprint import shapes

TINY = 20e6  # parameters; a smaller Qwen3 is faster on the CPU with our own decoder


class SettingsError(UnreadableData):
    """A combination of settings that cannot run here; the message says which one and what to do."""


def device_of(config: GRPORun | SupervisedRun) -> str:
    """Return `cuda` or `cpu`; `auto` takes a GPU if there is one and the model is not tiny. Raises SettingsError."""
    require_device(config.device)
    if config.device != "auto":
        return config.device
    return "cuda" if is_there() and sum(map(prod, shapes(config.policy).values())) > TINY else "cpu"


def is_there() -> bool:
    """Return whether torch can use a GPU."""
    return bool(torch.cuda.is_available())


def require_device(device: str) -> None:
    """Raise SettingsError if the device is a GPU that torch cannot use."""
    if device == "cuda" and not is_there():
        raise SettingsError("There is no GPU that torch can use on this worker. Set device to auto or cpu.")


def use_unplanned_attention() -> None:
    """Disable cuDNN's attention: it makes a plan for each new length, and here most lengths are new.

    On an H100 (torch 2.11) a plan took 0.1 s for a token of generation, and 0.8 s forward and backward.
    """
    torch.backends.cuda.enable_cudnn_sdp(False)


def name_of(device: str) -> str:
    """Return the display name of a device; a GPU has its vendor's name."""
    return str(torch.cuda.get_device_name()) if device == "cuda" else device


def check_settings(config: GRPORun) -> None:
    """Raise SettingsError for settings that would hang or have no meaning, before anything is loaded."""
    if config.sharding in ("fsdp", "zero3") and config.backend != "vllm":
        raise SettingsError(
            f"{config.sharding} needs the backend vllm: rollouts differ in their number of turns, so with sharded "
            "weights the processes would wait for each other forever. Set backend to vllm, or use ddp or zero2."
        )
    if config.sharding.startswith("zero") and importlib.util.find_spec("deepspeed") is None:
        raise SettingsError(
            f"{config.sharding} needs the package deepspeed on the worker. Install it, or use ddp or fsdp."
        )
    if config.backend == "vllm" and importlib.util.find_spec("vllm") is None:
        raise SettingsError(
            "The backend vllm needs the package vllm on the worker. Install it, or set backend to auto."
        )
    if config.processes < 1 or config.prompts % config.processes:
        raise SettingsError(
            f"{config.prompts} prompts cannot be divided evenly among {config.processes} processes. "
            "Make prompts a multiple of processes."
        )
    each = config.prompts * config.group // config.processes
    if config.micro_batch and each % config.micro_batch:
        raise SettingsError(f"micro_batch must divide the {each} rollouts of a process; {config.micro_batch} does not.")
    if config.normalise == "components" and not config.reward.plain:
        raise SettingsError("normalise=components needs the paper's form of the reward without optional terms.")
    if config.normalise == "components" and config.scale_rewards != "none":
        raise SettingsError("normalise=components scales each component itself: set scale_rewards to none.")
    if config.trainable != "all" and config.lora_rank:
        raise SettingsError("LoRA trains its adapter: set trainable to all, or lora_rank to 0.")


def train_final_norm_only(model: Any) -> None:
    """Freeze every weight but the gains of the norm before the output. Raises SettingsError for a model without one."""
    norm = getattr(model.base_model, "norm", None)
    if norm is None:
        raise SettingsError("This model has no norm before its output: set trainable to all.")
    model.requires_grad_(False)
    norm.requires_grad_(True)


def unwrap_lora(model: Any) -> Any:
    """Return the model without its LoRA wrapper; its layers keep their adapters."""
    return model.get_base_model() if hasattr(model, "peft_config") else model


def decodes(model: Any, device: str) -> bool:
    """Return whether our own decoder supports this model: a plain Qwen3 or Llama in fp32 on the CPU."""
    return device == "cpu" and not explain_incompatibility(model)


def is_fast(config: GRPORun, model: Any, device: str) -> bool:
    """Return whether our own update supports this model too: on one process, in fp32 throughout."""
    simple = config.precision == "fp32" and config.processes == 1 and not config.gradient_checkpointing
    return simple and config.backend in ("auto", "decoder") and decodes(unwrap_lora(model), device)
