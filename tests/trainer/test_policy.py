"""A policy's folder: what was saved is loaded, and what is missing or spoiled is named with the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from training_worker.policy.policy_folder import FILES, UnreadablePolicy, load_policy, save_policy


@pytest.fixture
def folder(tmp_path: Path, model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast) -> Path:
    save_policy(tmp_path / "policy", model, tokenizer, {"seed": 1})
    return tmp_path / "policy"


def test_what_was_saved_is_loaded(folder: Path, model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    policy = load_policy(folder)
    assert policy.card == {"seed": 1}
    assert policy.tokenizer.get_vocab() == tokenizer.get_vocab()
    assert policy.tokenizer.chat_template == tokenizer.chat_template
    for mine, theirs in zip(policy.model.parameters(), model.parameters(), strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(UnreadablePolicy, match=rf"{name} missing\. .*warmup"):
        load_policy(folder)


@pytest.mark.parametrize("name", [name for name in FILES if name != "tokenizer_config.json"])
def test_a_file_cut_short_is_refused(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(UnreadablePolicy, match="Copy the whole folder again"):
        load_policy(folder)


def test_weights_that_are_not_finite_are_refused(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][0] = torch.nan
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UnreadablePolicy, match=r"model\.norm\.weight are not finite"):
        load_policy(folder)


def test_a_folder_without_its_card_is_not_complete(folder: Path) -> None:
    (folder / "card.json").unlink()
    with pytest.raises(UnreadablePolicy, match=r"card\.json missing"):
        load_policy(folder)
