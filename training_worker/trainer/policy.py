"""A policy as a folder: weights as safetensors, the tokenizer, and a card that says what it was made from.

Nothing in such a folder is executed: no pickle, no remote code. What is missing or spoiled is named with the remedy.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from ..prove.trajectory import UnreadableData

CARD = "card.json"
TIED = "lm_head.weight"  # the embeddings, not stored twice
WEIGHTS = "model.safetensors"
FILES = ("config.json", WEIGHTS, "tokenizer.json", "tokenizer_config.json", CARD)


class UnreadablePolicy(UnreadableData):
    """A folder that holds no usable policy; the message says what is wrong and what to do."""


@dataclass(frozen=True)
class Policy:
    """A model, its tokenizer and its card (data fingerprint, seed, configuration, measurements)."""

    model: Qwen3ForCausalLM
    tokenizer: PreTrainedTokenizerFast
    card: dict[str, Any]


def save_policy(
    folder: Path, model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, card: Mapping[str, Any]
) -> None:
    """Write a policy; the card comes last and whole, so a folder with a card is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CARD).unlink(missing_ok=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    write_whole(folder / CARD, json.dumps(card, indent=2, ensure_ascii=False, sort_keys=True) + "\n")


def load_policy(folder: Path) -> Policy:
    """Read a policy. Raises UnreadablePolicy."""
    remedy = "Copy the whole folder again, or make it anew with `python -m training_worker.trainer.warmup`."
    if missing := [name for name in FILES if not (folder / name).is_file()]:
        raise UnreadablePolicy(f"{folder} is not a policy: {', '.join(missing)} missing. {remedy}")
    try:
        config = Qwen3Config.from_pretrained(folder, local_files_only=True)
        if config.architectures not in (None, ["Qwen3ForCausalLM"]):
            raise UnreadablePolicy(f"{folder} holds {config.architectures}; only Qwen3ForCausalLM is supported here.")
        known = check_weights(folder / WEIGHTS)
        model = Qwen3ForCausalLM.from_pretrained(
            folder, config=config, dtype=torch.float32, use_safetensors=True, local_files_only=True
        )
        if lost := sorted(set(model.state_dict()) - known - {TIED}):
            raise ValueError(f"the weights {', '.join(lost[:3])} are missing.")
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder, padding_side="left", local_files_only=True)
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    except (SafetensorError, OSError, ValueError, KeyError, RuntimeError) as error:
        raise UnreadablePolicy(f"{folder} cannot be read: {str(error).splitlines()[0][:200]} {remedy}") from None
    if len(tokenizer) != model.config.vocab_size or not tokenizer.chat_template or not isinstance(card, dict):
        raise UnreadablePolicy(f"{folder}: tokenizer, weights and card do not belong together. {remedy}")
    return Policy(model, tokenizer, card)


def check_weights(path: Path) -> set[str]:
    """Refuse weights that are cut short, or not finite; their names. Raises SafetensorError or ValueError."""
    with safe_open(path, framework="pt") as weights:
        names = set(weights.keys())
        for name in names:
            if not torch.isfinite(weights.get_tensor(name)).all():
                raise ValueError(f"the weights {name} are not finite.")
    return names


def write_whole(path: Path, text: str) -> None:
    """Write a small file that appears whole or not at all, and survives a power cut."""
    partial = path.with_name(path.name + ".partial")
    with partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
