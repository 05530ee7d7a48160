"""The forward pass of a Hugging Face Qwen3 or Llama with attention left to the caller.

The decoder and the grouped pass share it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import rms_norm
from transformers import LlamaForCausalLM, Qwen3ForCausalLM

Readable = Qwen3ForCausalLM | LlamaForCausalLM
Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""Maps layer, queries (rows, heads, T, dim), keys and values (rows, kv heads, T, dim) to outputs shaped as queries."""


def hidden_states(
    model: Readable, ids: Tensor, positions: Tensor, angles: tuple[Tensor, Tensor], attend: Attend
) -> Tensor:
    """Return the last hidden states (rows, T, width) of ids (rows, T) at positions (rows, T)."""
    body, config, (rows, time) = model.model, model.config, ids.shape
    cos, sin = (table[positions][:, None] for table in angles)
    x = body.embed_tokens(ids)
    for number, layer in enumerate(body.layers):
        part, h = layer.self_attn, apply_norm(layer.input_layernorm, x)
        q = part.q_proj(h).view(rows, time, config.num_attention_heads, -1)
        k = part.k_proj(h).view(rows, time, config.num_key_value_heads, -1)
        v = part.v_proj(h).view(rows, time, config.num_key_value_heads, -1).transpose(1, 2)
        if isinstance(model, Qwen3ForCausalLM):
            q, k = apply_norm(part.q_norm, q), apply_norm(part.k_norm, k)
        q, k = (apply_rotary_embedding(part.transpose(1, 2), cos, sin) for part in (q, k))
        mixed = attend(number, q, k, v)
        x = x + part.o_proj(mixed.transpose(1, 2).flatten(2))
        x = x + layer.mlp(apply_norm(layer.post_attention_layernorm, x))
    return apply_norm(body.norm, x)


def apply_norm(norm: Any, x: Tensor) -> Tensor:
    """Apply a norm of transformers in one operation."""
    return rms_norm(x, norm.weight.shape, norm.weight, norm.variance_epsilon)


def heads_of(model: Readable) -> tuple[int, int, int]:
    """Return the numbers of query heads and of key and value heads, and the dimension of a head."""
    config = model.config
    return int(config.num_attention_heads or 0), int(config.num_key_value_heads or 0), int(config.head_dim or 0)


def rotary(model: Readable, positions: int) -> tuple[Tensor, Tensor]:
    """Return cosines and sines (positions, head_dim) of the rotary embedding."""
    dim, theta = heads_of(model)[2], dict[str, Any](model.config.rope_parameters or {})["rope_theta"]
    turns = 1.0 / theta ** (torch.arange(0, dim, 2).float() / dim)
    turns = torch.outer(torch.arange(positions).float(), turns)
    angles = torch.cat([turns, turns], -1)
    return angles.cos(), angles.sin()


def apply_rotary_embedding(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


def causal_mask(start: int, end: int) -> Tensor:
    """Return a boolean mask (end - start, end) of the places that the tokens from `start` to `end` attend to."""
    return torch.ones(end - start, end, dtype=torch.bool).tril(start)
