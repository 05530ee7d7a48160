"""A model of a given shape with random weights, for timing steps with rollouts of a chosen length.

The output of every block starts at zero, and one number stands out: the embedding of the token that ends a turn is set
so that a turn ends after each token with probability 1 / `turn`. The computation is that of a trained model of this
shape.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from ..core.trajectory import Example, Message
from ..environment.episode import Attempt, demonstration
from .model_families import family_of
from .policy_folder import load_tokenizer, save_policy


@dataclass(frozen=True)
class ModelShape:
    """The shape of a model; the defaults are those of Qwen3-4B."""

    layers: int = 36
    width: int = 2560
    heads: int = 32
    kv_heads: int = 8
    head_dim: int = 128
    ffn: int = 9728
    vocabulary: int = 151_936


def save_shaped(
    folder: Path, tokenizer_of: Path, shape: ModelShape, turn: int, seed: int = 0, device: str = "cpu"
) -> int:
    """Write such a model in bfloat16, with another model's tokenizer; return its size. Raises ValueError.

    The size is the number of parameters.
    """
    tokenizer = load_tokenizer(tokenizer_of).tokenizer
    if len(tokenizer) > shape.vocabulary:
        raise ValueError(f"The tokenizer has {len(tokenizer)} tokens, more than the shape's {shape.vocabulary}.")
    with torch.device(device):  # billions of random numbers: a GPU draws them in a second
        model = build_random_model(tokenizer, shape, turn, seed)
    save_policy(folder, model, tokenizer, {"made_by": "random weights", "shape": vars(shape)})
    return sum(weight.numel() for weight in model.parameters())


@torch.no_grad()
def build_random_model(tokenizer: PreTrainedTokenizerFast, shape: ModelShape, turn: int, seed: int) -> Qwen3ForCausalLM:
    torch.manual_seed(seed)
    end = family_of(tokenizer).end
    config = Qwen3Config(
        vocab_size=shape.vocabulary,
        hidden_size=shape.width,
        intermediate_size=shape.ffn,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        max_position_embeddings=40_960,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},
        tie_word_embeddings=True,
        eos_token_id=end,
        pad_token_id=tokenizer.pad_token_id,
        dtype=torch.bfloat16,
    )
    model = Qwen3ForCausalLM._from_config(config, dtype=torch.bfloat16)
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight.zero_()
        layer.mlp.down_proj.weight.zero_()
    embedding = model.model.embed_tokens.weight.mul_(0.01)
    embedding[:, 0] = 1.0  # all that remains after the norm: sqrt(width) for any token
    embedding[end, 0] += (math.log(shape.vocabulary) - math.log(max(2, turn) - 1)) / math.sqrt(shape.width)
    return model


class GroundTruth(Attempt):
    """An episode that takes the ground truth's turns whatever the model says, so that worlds do their real work."""

    def __init__(self, example: Example, **rest: Any):
        super().__init__(example, **rest)
        said = [one.content for one in demonstration(example, self.format) if one.role == "assistant"]
        self.turns = iter(said)

    def answer(self, text: str, *, truncated: bool = False) -> tuple[Message, ...]:
        return super().answer(next(self.turns, "That is all."))
