"""Log-probabilities of whole groups with gradients: the prompt a group shares is read once, not once per rollout.

Activations are those of one group at a time: the backward pass computes each group again (activation checkpointing,
Chen et al. 2016), so memory does not grow with the number of groups. Attention never holds a matrix of weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint
from transformers import Qwen3ForCausalLM

from .qwen3 import FORBIDDEN, hidden_states, padded, rotary


def group_logprobs(
    model: Qwen3ForCausalLM, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]], temperature: float
) -> tuple[Tensor, Tensor]:
    """Log-probabilities and entropies (samples, longest completion) of the completions' tokens; 0 where padded.

    Samples may come in any order; those with equal prompts are a group and share them. A group is padded to its own
    longest completion only. Entropies carry no gradient.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, prompt in enumerate(prompts):
        groups.setdefault(tuple(prompt), []).append(i)
    longest = max(map(len, completions))
    parts = [
        checkpoint(
            read_group,
            model,
            p,
            [completions[i] for i in rows],
            temperature,
            use_reentrant=False,
            preserve_rng_state=False,
        )
        for p, rows in groups.items()
    ]
    order = torch.tensor([i for rows in groups.values() for i in rows]).argsort()
    said, entropy = (
        torch.cat([pad(part[which], (0, longest - part[which].shape[1])) for part in parts])[order] for which in (0, 1)
    )
    return said, entropy


def read_group(
    model: Qwen3ForCausalLM, prompt: Sequence[int], completions: Sequence[Sequence[int]], temperature: float
) -> tuple[Tensor, Tensor]:
    """The same of the completions of one prompt."""
    size, longest = len(completions), max(map(len, completions))
    angles = rotary(model, len(prompt) + longest)
    last, prefix = read_prompt(model, prompt, angles)
    ids = padded(completions, longest)
    own = read_completions(model, ids, len(prompt), prefix, angles)
    hidden = torch.cat([last.expand(size, -1)[:, None], own[:, :-1]], 1)  # (samples, longest, width)
    real = torch.arange(longest) < torch.tensor([len(completion) for completion in completions])[:, None]
    spread = torch.log_softmax(model.lm_head(hidden[real]).float() / temperature, -1)
    said = spread.gather(1, ids[real][:, None])[:, 0]
    with torch.no_grad():
        entropy = -(spread.exp() * spread).sum(-1)
    blank = torch.zeros(ids.shape)
    return blank.index_put((real,), said), blank.index_put((real,), entropy)


def read_prompt(
    model: Qwen3ForCausalLM, prompt: Sequence[int], angles: tuple[Tensor, Tensor]
) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """The last hidden state of a prompt (width,), and keys and values (1, kv heads, tokens, dim) of every layer."""
    prefix: list[tuple[Tensor, Tensor]] = []

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        prefix.append((k, v))
        return scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    hidden = hidden_states(model, torch.tensor([prompt]), torch.arange(len(prompt))[None], angles, attend)
    return hidden[0, -1], prefix


def read_completions(
    model: Qwen3ForCausalLM,
    ids: Tensor,
    after: int,
    prefix: Sequence[tuple[Tensor, Tensor]],
    angles: tuple[Tensor, Tensor],
) -> Tensor:
    """Hidden states (samples, T, width) of completions, all of them after one prompt of so many tokens."""
    rows, time = ids.shape
    unseen = torch.full((time, time), FORBIDDEN).triu(1)
    mask = torch.cat([torch.zeros(time, after), unseen], 1)

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k, v = (
            torch.cat([past.expand(rows, -1, -1, -1), own], 2) for past, own in zip(prefix[layer], (k, v), strict=True)
        )
        return scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)

    positions = (after + torch.arange(time)).expand(rows, -1)
    return hidden_states(model, ids, positions, angles, attend)
