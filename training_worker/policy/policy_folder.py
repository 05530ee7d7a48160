"""A policy as a folder: weights as safetensors, the tokenizer, and a card that says what it was made from.

Nothing in such a folder is executed: no pickle, no remote code. Errors name what is missing or damaged and the remedy.
A folder under the roots of models.py needs no card: it is a third-party model.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from .models import (
    ADAPTER,
    ADAPTER_CONFIG,
    INDEX,
    SUPPORTED,
    WEIGHTS,
    UnreadablePolicy,
    check_folder,
    check_links,
    is_within,
    read_json,
    roots,
    weight_files,
)
from .timeout import enforce_timeout

__all__ = ["FILES", "Policy", "UnreadablePolicy", "load_policy", "save_policy", "write_atomically"]

CARD = "card.json"
SHORT = "short"  # the value of `answers` in a card
LONGEST_RENDERING = 10.0  # seconds for one short message; a third-party template may never end
TIED = "lm_head.weight"  # the embeddings, which are not stored twice
FILES = ("config.json", WEIGHTS, "tokenizer.json", "tokenizer_config.json", CARD)
REMEDY = "Copy the whole folder again, or create it with `python -m training_worker.experiments.warmup`."
SENTINEL = {
    "type": "function",
    "function": {
        "name": "sentinel_tool",
        "description": "Nothing.",
        "parameters": {"type": "object", "properties": {}, "required": []},
    },
}


@dataclass(frozen=True)
class Policy:
    """A model of a supported family, its tokenizer and its card (data, seed, configuration, measurements)."""

    model: Any
    tokenizer: PreTrainedTokenizerFast
    card: dict[str, Any]

    @property
    def has_short_answers(self) -> bool:
        """Return whether it, or a policy it was trained from, learnt to give short answers (`shorten_answers`)."""
        card: Any = self.card
        while isinstance(card, dict):
            if card.get("answers") == SHORT:
                return True
            card = card.get("from")
        return False


def save_policy(
    folder: Path, model: Any, tokenizer: PreTrainedTokenizerFast, card: Mapping[str, Any], **how: Any
) -> None:
    """Write a policy, or the adapter of one; the card is written last, so a folder with a card is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CARD).unlink(missing_ok=True)
    model.save_pretrained(folder, **how)
    tokenizer.save_pretrained(folder)
    write_atomically(folder / CARD, json.dumps(card, indent=2, ensure_ascii=False, sort_keys=True) + "\n")


def store_adapter(folder: Path, target: Path, base: Path) -> Path:
    """Store the adapter of a policy in half its size (bf16), to be loaded onto the policy `base`; return its folder."""
    weights = load_file(folder / ADAPTER)
    target.mkdir(parents=True, exist_ok=True)
    save_file({name: weight.bfloat16() for name, weight in weights.items()}, target / ADAPTER)
    config = read_json(folder / ADAPTER_CONFIG) | {"base_model_name_or_path": str(base)}
    write_atomically(target / ADAPTER_CONFIG, json.dumps(config, indent=2, sort_keys=True) + "\n")
    write_atomically(target / CARD, (folder / CARD).read_text("utf-8"))
    return target


def load_policy(folder: Path, dtype: torch.dtype = torch.float32, *, needs_card: bool = True) -> Policy:
    """Read a policy, with its adapter merged if it has one. Raises UnreadablePolicy.

    `needs_card` is off for a checkpoint, which is known to be complete by other means.
    """
    inside = is_within(folder, roots())
    if inside:
        check_links(folder)
    of_others = inside and not (folder / CARD).is_file()
    if of_others:
        check_folder(folder)
    elif (folder / ADAPTER).is_file():
        return load_adapted(folder, dtype)
    elif missing := [name for name in missing_files(folder) if needs_card or name != CARD]:
        raise UnreadablePolicy(f"{folder} is not a policy: {', '.join(missing)} missing. {REMEDY}")
    of_others = of_others or not (folder / CARD).is_file()
    remedy = "Copy the whole folder again." if of_others else REMEDY
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        if not set(config.architectures or ["Qwen3ForCausalLM"]) <= set(SUPPORTED):
            known = ", ".join(SUPPORTED)
            raise UnreadablePolicy(f"{folder} holds {config.architectures}; supported here are {known}.")
        weights = check_weights(weight_files(folder))
        model = AutoModelForCausalLM.from_pretrained(
            folder, config=config, dtype=dtype, use_safetensors=True, local_files_only=True, trust_remote_code=False
        )
        tied = {TIED} if config.tie_word_embeddings else set()
        if lost := sorted(set(model.state_dict()) - weights - tied):
            raise ValueError(f"the weights {', '.join(lost[:3])} are missing.")
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder, padding_side="left", local_files_only=True)
        card = {} if of_others else json.loads((folder / CARD).read_text(encoding="utf-8"))
    except (SafetensorError, OSError, ValueError, KeyError, RuntimeError) as error:
        raise UnreadablePolicy(f"{folder} cannot be read: {str(error).splitlines()[0][:200]} {remedy}") from None
    if len(tokenizer) > model.config.vocab_size or not isinstance(card, dict):
        raise UnreadablePolicy(f"{folder}: tokenizer, weights and card do not belong together. {remedy}")
    check_template(folder, tokenizer)
    return Policy(model, tokenizer, card)


def load_tokenizer(folder: Path) -> Policy:
    """Return a policy without its model, for callers that only count tokens. Raises UnreadablePolicy."""
    if is_within(folder, roots()):
        check_links(folder)
    try:
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder, padding_side="left", local_files_only=True)
    except (OSError, ValueError) as error:
        raise UnreadablePolicy(f"{folder} cannot be read: {str(error).splitlines()[0][:200]} {REMEDY}") from None
    check_template(folder, tokenizer)
    return Policy(None, tokenizer, {})


def missing_files(folder: Path) -> list[str]:
    """Return the files that one of our policies lacks; weights may be one file, or several with an index."""
    there = {name for name in (*FILES, INDEX) if (folder / name).is_file()}
    return [name for name in FILES if name not in there and not (name == WEIGHTS and INDEX in there)]


def load_adapted(folder: Path, dtype: torch.dtype) -> Policy:
    """Return one of our policies that holds an adapter: the model it was trained on, with the adapter merged."""
    from peft import PeftModel

    base = load_policy(Path(str(read_json(folder / ADAPTER_CONFIG).get("base_model_name_or_path"))), dtype)
    check_weights([folder / ADAPTER])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # transformers warns about a name that peft uses
        adapted = PeftModel.from_pretrained(base.model, str(folder))
    card = read_json(folder / CARD) if (folder / CARD).is_file() else {}
    merged = adapted.merge_and_unload()
    merged.name_or_path = str(folder)  # a further adapter stores this as its base model
    return Policy(merged, base.tokenizer, card)


def check_template(folder: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    """Raise UnreadablePolicy for a model whose template cannot show it tools."""
    if not tokenizer.chat_template:
        raise UnreadablePolicy(
            f"{folder} has no chat template: it is not a chat model, or chat_template.jinja was not copied. "
            "Use the instruction-tuned model of the family."
        )
    try:
        with enforce_timeout(LONGEST_RENDERING):
            text = tokenizer.apply_chat_template([{"role": "user", "content": "?"}], tools=[SENTINEL], tokenize=False)
    except Exception as error:  # a template is a third-party program that may fail in any way
        raise UnreadablePolicy(f"{folder}: its chat template fails on a tool ({str(error)[:200]}).") from None
    if "sentinel_tool" not in str(text):
        raise UnreadablePolicy(f"{folder}: its chat template does not show tools. Use a model that supports them.")


def check_weights(files: list[Path]) -> set[str]:
    """Return the names of the weights. Raises SafetensorError or ValueError if any are truncated or not finite."""
    names: set[str] = set()
    for path in files:
        with safe_open(path, framework="pt") as weights:
            for name in weights.keys():  # noqa: SIM118  it is not a dict
                names.add(name)
                if not torch.isfinite(weights.get_tensor(name)).all():
                    raise ValueError(f"the weights {name} are not finite.")
    return names


def write_atomically(path: Path, text: str) -> None:
    """Write a small file atomically, so that it survives a power cut."""
    partial = path.with_name(path.name + ".partial")
    with partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
