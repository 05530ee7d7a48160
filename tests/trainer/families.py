"""Small models of the real families: their configurations and chat formats with a tokenizer trained here.

A folder has what a checkpoint of the family has, in small: two layers, the family's switches (norms, biases, tied
embeddings, scaled rotary angles, Granite's multipliers), its special tokens and the pattern it cuts text with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing
from transformers import (
    GraniteConfig,
    GraniteForCausalLM,
    GraniteMoeHybridConfig,
    GraniteMoeHybridForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)
from trl import chat_template_utils as trl

GRANITE = (Path(__file__).parent / "templates" / "granite4.jinja").read_text(encoding="utf-8")
CONTRACTION, DIGIT, DIGITS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)", r"\p{N}", r"\p{N}{1,3}"
QWEN_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
QWEN_MARKS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")
GRANITE_TOKENS = ("<|pad|>", "<|end_of_text|>", "<|start_of_role|>", "<|end_of_role|>", "<|tool_call|>")
LLAMA_TOKENS = (
    "<|begin_of_text|>", "<|end_of_text|>", "<|finetune_right_pad_id|>", "<|start_header_id|>", "<|end_header_id|>",
    "<|eom_id|>", "<|eot_id|>", "<|python_tag|>",
)  # fmt: skip
TEXTS = (
    "You are a helpful assistant. You may call one or more functions to assist with the user query.",
    "You are provided with function signatures within <tools></tools> XML tags. Find the balance of the account.",
    '{"type": "function", "function": {"name": "get_balance", "description": "Tell the balance of an account."}}',
    '{"name": "find_account", "arguments": {"name": "Maria Lopez", "limit": 25, "open": true}}',
    '{"id": "ACC-1207", "currency": "EUR", "balance": 118250, "owners": [{"name": "Viktor Sato"}]}',
    "system user assistant tool ipython Cutting Knowledge Date: December 2023 Today Date: 26 Jul 2024",
)
SMALL = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "max_position_embeddings": 8192,
    "initializer_range": 0.2,  # enough that what is read matters for what is said
}  # fmt: skip
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2}
MULTIPLIERS = {"embedding_multiplier": 12.0, "residual_multiplier": 0.22, "attention_multiplier": 0.125}
LLAMA3_ROPE = {
    "rope_type": "llama3", "rope_theta": 500000.0, "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 512,
}  # fmt: skip
ROPE = {"rope_type": "default", "rope_theta": 1e6}


@dataclass(frozen=True)
class Small:
    """A family in small: its chat template, the tokens it has, and its model for a vocabulary of a given size."""

    template: str
    tokens: tuple[str, ...]
    end: str
    pad: str
    digits: str
    model: Callable[..., Any]
    marks: tuple[str, ...] = ()
    begin: str = ""
    nfc: bool = False


def qwen3(**vocabulary: Any) -> Qwen3ForCausalLM:
    config = Qwen3Config(**SMALL, **HEADS, head_dim=16, tie_word_embeddings=True, rope_parameters=ROPE, **vocabulary)
    return Qwen3ForCausalLM(config)


def qwen2(**vocabulary: Any) -> Qwen2ForCausalLM:
    return Qwen2ForCausalLM(Qwen2Config(**SMALL, **HEADS, tie_word_embeddings=True, rope_parameters=ROPE, **vocabulary))


def granite(**vocabulary: Any) -> GraniteForCausalLM:
    config = GraniteConfig(**SMALL, **HEADS, **MULTIPLIERS, logits_scaling=8.0, tie_word_embeddings=True, **vocabulary)
    return GraniteForCausalLM(config)


def granite_hybrid(**vocabulary: Any) -> GraniteMoeHybridForCausalLM:
    config = GraniteMoeHybridConfig(
        **SMALL, **HEADS, **MULTIPLIERS, logits_scaling=8.0, tie_word_embeddings=True,
        layer_types=["mamba", "attention"], position_embedding_type="nope", shared_intermediate_size=64,
        num_local_experts=4, num_experts_per_tok=2, mamba_n_heads=8, mamba_d_head=8, mamba_d_state=16,
        mamba_chunk_size=16, **vocabulary,
    )  # fmt: skip
    return GraniteMoeHybridForCausalLM(config)


def llama(**vocabulary: Any) -> LlamaForCausalLM:
    config = LlamaConfig(
        **SMALL, **HEADS, head_dim=8, tie_word_embeddings=True, rope_parameters=LLAMA3_ROPE, **vocabulary
    )
    return LlamaForCausalLM(config)


def smollm2(**vocabulary: Any) -> LlamaForCausalLM:
    """A Llama with plain rotary positions, as SmolLM2 is."""
    config = LlamaConfig(**SMALL, **HEADS, head_dim=16, tie_word_embeddings=True, rope_parameters=ROPE, **vocabulary)
    return LlamaForCausalLM(config)


QWEN: dict[str, Any] = {
    "tokens": QWEN_TOKENS, "end": "<|im_end|>", "pad": "<|endoftext|>", "digits": DIGIT, "marks": QWEN_MARKS,
    "nfc": True,
}  # fmt: skip
GRANITE4: dict[str, Any] = {
    "template": GRANITE, "tokens": GRANITE_TOKENS, "end": "<|end_of_text|>", "pad": "<|pad|>", "digits": DIGITS
}  # fmt: skip
LLAMA: dict[str, Any] = {
    "tokens": LLAMA_TOKENS, "end": "<|eot_id|>", "pad": "<|finetune_right_pad_id|>", "digits": DIGITS,
    "begin": "<|begin_of_text|>", "model": llama,
}  # fmt: skip
FAMILIES = {
    "qwen3": Small(trl.qwen3_chat_template, **QWEN, model=qwen3),
    "qwen3-2507": Small(trl.qwen3_instruct_2507_chat_template, **QWEN, model=qwen3),
    "qwen3-llama": Small(trl.qwen3_instruct_2507_chat_template, **QWEN, model=smollm2),
    "qwen2.5": Small(trl.qwen2_5_chat_template, **QWEN, model=qwen2),
    "granite4": Small(**GRANITE4, model=granite),
    "granite4-hybrid": Small(**GRANITE4, model=granite_hybrid),
    "llama3.1": Small(trl.llama3_1_chat_template, **LLAMA),
    "llama3.2": Small(trl.llama3_2_chat_template, **LLAMA),
}
FIRST = (
    "qwen3",
    "qwen3-llama",
    "granite4-hybrid",
    "llama3.2",
)  # one of each kind of model; the others are for long tests
EVERY = [pytest.param(name, marks=() if name in FIRST else pytest.mark.long) for name in FAMILIES]


@cache
def family_tokenizer(name: str) -> PreTrainedTokenizerFast:
    """The tokenizer of a family, with its chat template. Do not change it: it is shared."""
    family = FAMILIES[name]
    pattern = (
        rf"{CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{family.digits}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    bpe = Tokenizer(models.BPE(ignore_merges=bool(family.begin)))
    if family.nfc:
        bpe.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    bpe.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    bpe.train_from_iterator(TEXTS * 3, trainer)
    bpe.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in family.tokens])
    bpe.add_tokens([AddedToken(mark, special=False, normalized=False) for mark in family.marks])
    if family.begin:
        begin = (family.begin, bpe.token_to_id(family.begin))
        bpe.post_processor = TemplateProcessing(single=f"{family.begin} $A", special_tokens=[begin])
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        bos_token=family.begin or None,
        eos_token=family.end,
        pad_token=family.pad,
        padding_side="left",
        clean_up_tokenization_spaces=False,
        chat_template=family.template,
    )


def family_model(name: str, seed: int = 0) -> Any:
    """A model of a family with random weights, for its tokenizer; the same seed gives the same weights."""
    tokenizer = family_tokenizer(name)
    torch.manual_seed(seed)
    ids = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    return FAMILIES[name].model(vocab_size=len(tokenizer), bos_token_id=tokenizer.bos_token_id, **ids).eval()


@pytest.fixture(scope="session")
def family_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a family by its name (see FAMILIES), as a checkpoint has it. Do not change it: it is shared."""

    @cache
    def saved(name: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        family_model(name).save_pretrained(folder)
        family_tokenizer(name).save_pretrained(folder)
        return folder

    return saved
