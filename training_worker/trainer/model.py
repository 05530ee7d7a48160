"""The tiny policy: a Qwen3 of about a million parameters that starts with a weak copying circuit.

Only the initialisation is set by hand, and all of it is trained. Without it the circuit (an "induction head": find
where the current token stood before, copy what followed it) emerges late, and tool use is mostly copying.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

ROPE_THETA = 1e6


@dataclass(frozen=True)
class Shape:
    """The size of a tiny policy; the defaults make 1.0M parameters and the embedding."""

    layers: int = 4
    width: int = 128
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 64
    ffn: int = 384
    positions: int = 4096


def tiny_model(tokenizer: PreTrainedTokenizerFast, seed: int = 0, shape: Shape = Shape()) -> Qwen3ForCausalLM:
    """A fresh model for this tokenizer; the same seed gives the same weights."""
    torch.manual_seed(seed)
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=shape.width,
            intermediate_size=shape.ffn,
            num_hidden_layers=shape.layers,
            num_attention_heads=shape.heads,
            num_key_value_heads=shape.kv_heads,
            head_dim=shape.head_dim,
            max_position_embeddings=shape.positions,
            rope_parameters={"rope_type": "default", "rope_theta": ROPE_THETA},
            tie_word_embeddings=True,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
        )
    )
    start_to_copy(model)
    return model


@torch.no_grad()
def start_to_copy(model: Qwen3ForCausalLM, write: float = 0.1, copy: float = 3.0, gain: float = 4.0) -> None:
    """Set head 0 of layers 0 and 1 to a weak copying circuit.

    Layer 0 attends to the previous token and writes a projection of it; layer 1 looks for positions whose previous
    token equals the current one and copies what stands there. `gain` on the normed queries and keys lets attention be
    sharp.
    """
    width, dim = model.config.hidden_size, model.config.head_dim
    generator = torch.Generator().manual_seed(1)
    turns = 1.0 / ROPE_THETA ** (torch.arange(0, dim, 2).float() / dim)  # radians a position, per rotary pair

    embedding = model.model.embed_tokens.weight
    embedding.mul_(0.05 / embedding.std())
    embedding[:, 0] = 0.3  # the same for every token: what position-only attention reads

    def projection() -> torch.Tensor:
        columns: torch.Tensor = torch.linalg.qr(torch.randn(width, dim, generator=generator))[0]
        columns[0] = 0
        return columns

    said, heard, copied = projection(), projection(), projection()
    previous, match = (model.model.layers[i].self_attn for i in (0, 1))

    for weight in (previous.q_proj.weight, previous.k_proj.weight, match.q_proj.weight, match.k_proj.weight):
        weight[:dim] = 0
    fast = (turns > 0.05).float()  # these pairs tell neighbouring positions apart
    previous.q_proj.weight[:dim, 0] = torch.cat([fast * torch.cos(-turns), fast * torch.sin(-turns)])  # one back
    previous.k_proj.weight[:dim, 0] = torch.cat([fast, torch.zeros(dim // 2)])
    previous.v_proj.weight[:dim] = said.T
    previous.o_proj.weight[:, :dim] = heard * write

    slow = torch.where(torch.cat([turns, turns]) < 0.004)[0]  # these compare contents over any distance
    match.q_proj.weight[slow] = said.T[: len(slow)]
    match.k_proj.weight[slow] = heard.T[: len(slow)]
    match.v_proj.weight[:dim] = copied.T
    match.o_proj.weight[:, :dim] = copied * copy
    for attention in (previous, match):
        attention.q_norm.weight.fill_(gain**0.5)
        attention.k_norm.weight.fill_(gain**0.5)
