"""A tiny sentence-embedding model as sentence-transformers lays it out: random weights, letters as tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LAYOUT: dict[str, Any] = {
    "modules.json": [
        {"type": f"sentence_transformers.models.{name}"} for name in ("Transformer", "Pooling", "Normalize")
    ],
    "sentence_bert_config.json": {"max_seq_length": 48},
    "1_Pooling/config.json": {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True},
}


def tiny_sentences(folder: Path, seed: int = 0) -> Path:
    """Write the model to a folder; this needs torch. Only equal texts have equal embeddings."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from tokenizers.processors import TemplateProcessing
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    letters = ["[PAD]", "[UNK]", "[CLS]", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({letter: place for place, letter in enumerate(letters)}, [], unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 2)])
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(letters),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(folder)
    for name, content in LAYOUT.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content), "utf-8")
    return folder
