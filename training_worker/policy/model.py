"""The tiny policy: a Qwen3 of a few million parameters that starts with weak circuits for copying and looking up.

Only the initialisation is set by hand, and all of it is trained. Without it the circuits emerge late or not at all, and
tool use is mostly copying. An "induction head" finds the previous occurrence of the current token and copies the token
after it (Olsson et al. 2022, arXiv:2209.11895). A look-up finds a name in a list and copies the id before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

ROPE_THETA = 1e6
SPACE = "Ġ"  # a space at the start of a token, as byte-level BPE writes it


@dataclass(frozen=True)
class Shape:
    """The size of a tiny policy; the defaults give 1.0M parameters without the embedding."""

    layers: int = 4
    width: int = 128
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 64
    ffn: int = 384
    positions: int = 4096


def tiny_model(tokenizer: PreTrainedTokenizerFast, seed: int = 0, shape: Shape = Shape()) -> Qwen3ForCausalLM:
    """Return a new model for this tokenizer; the same seed gives the same weights."""
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
    set_circuits(model)
    set_spellings(model, tokenizer)
    return model


@torch.no_grad()
def set_spellings(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, apart: float = 0.5) -> None:
    """Set the embeddings of ` word` and `Word` to that of `word`, apart by one direction for each kind of spelling.

    A user mentions the ` household` account where a result has "household"; the circuits can then match the two.
    """
    embedding = model.model.embed_tokens.weight
    generator = torch.Generator().manual_seed(2)
    spaced, capital = apart * embedding.std() * torch.randn(2, embedding.shape[1], generator=generator)
    spaced[0] = capital[0] = 0  # that dimension is the same for every token
    vocabulary = tokenizer.get_vocab()
    words = [word for word in vocabulary if (bare := word.removeprefix(SPACE)).isascii() and bare.isalpha()]
    for word in sorted(words, key=lambda word: (word.startswith(SPACE), not word.islower(), word)):
        bare = word.removeprefix(SPACE)
        base, direction = (bare, spaced) if bare != word else (word.lower(), capital)
        if base != word and base in vocabulary:
            embedding[vocabulary[word]] = embedding[vocabulary[base]] + direction


@torch.no_grad()
def set_circuits(model: Qwen3ForCausalLM, write: float = 0.1, copy: float = 3.0, gain: float = 4.0) -> None:
    """Set heads of layers 0 and 1 to weak circuits for copying and for looking up.

    In layer 0 three heads attend to the token 1, 3 and 4 back and write a projection of it, each into its own subspace.
    In layer 1 one head looks for positions whose previous token equals the current one and copies the token there. Two
    others look for the token 3 or 4 back, which is the last or the first of a name in `"name" (ID-`, and copy the token
    3 before the match, which is that row's id where the name follows it. `gain` on the normed queries and keys allows
    sharp attention.
    """
    width, dim, heads = model.config.hidden_size, model.config.head_dim, model.config.num_attention_heads
    sharing = heads // model.config.num_key_value_heads  # heads that have the same keys and values
    generator = torch.Generator().manual_seed(1)
    turns = 1.0 / ROPE_THETA ** (torch.arange(0, dim, 2).float() / dim)  # radians per position, for each rotary pair
    fast = (turns > 0.05).float()  # these pairs tell neighbouring positions apart
    slow = torch.where(torch.cat([turns, turns]) < 0.004)[0]  # these compare contents over any distance
    size = min(len(slow), (width - 1) // 4)

    embedding = model.model.embed_tokens.weight
    embedding.mul_(0.05 / embedding.std())
    embedding[:, 0] = 0.3  # the same for every token, for attention by position alone
    basis = torch.zeros(width, width - 1)
    basis[1:] = torch.linalg.qr(torch.randn(width - 1, width - 1, generator=generator))[0]
    *heard, said = basis.split([size, size, size, width - 1 - 3 * size], 1)  # of tokens 1, 3 and 4 back, and itself
    said = said[:, :dim]
    key = said[:, :size]
    first, second = (model.model.layers[number].self_attn for number in (0, 1))

    def set_head(weight: torch.Tensor, head: int, rows: torch.Tensor, at: torch.Tensor | None = None) -> None:
        """Set rows of a head, by default its first ones, and the others to 0."""
        weight[head * dim : (head + 1) * dim] = 0
        weight[head * dim + (torch.arange(dim) if at is None else at)[: len(rows)]] = rows

    still, constant = torch.cat([fast, torch.zeros(dim // 2)]), torch.eye(width)[0]
    for head, back, block in ((0, 1, 0), (2, 3, 1), (3, 4, 2)):
        if head < heads:
            ahead = torch.cat([fast * torch.cos(-back * turns), fast * torch.sin(-back * turns)])
            set_head(first.q_proj.weight, head, torch.outer(ahead, constant))
            set_head(first.k_proj.weight, head // sharing, torch.outer(still, constant))
            set_head(first.v_proj.weight, head // sharing, said.T)
            set_head(first.o_proj.weight.T, head, heard[block].T * write)

    for head, query, found, copied in (
        (0, key, heard[0], said),
        (2, heard[1], key, heard[1]),
        (3, heard[2], key, heard[1]),
    ):
        if head < heads:
            set_head(second.q_proj.weight, head, query.T, slow)
            set_head(second.k_proj.weight, head // sharing, found.T, slow)
            set_head(second.v_proj.weight, head // sharing, copied.T)
            set_head(second.o_proj.weight.T, head, said[:, : copied.shape[1]].T * copy)
    for attention in (first, second):
        attention.q_norm.weight.fill_(gain**0.5)
        attention.k_norm.weight.fill_(gain**0.5)
