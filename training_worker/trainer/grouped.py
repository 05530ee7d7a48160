"""Log-probabilities of whole groups with gradients: the prompt a group shares is read once, not once per rollout."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention
from transformers import Qwen3ForCausalLM

from .qwen3 import FORBIDDEN, forbidden_from, heads_of, hidden_states, padded, rotary


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
    parts = [read_group(model, p, [completions[i] for i in rows], temperature) for p, rows in groups.items()]
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
    last, prefix = read_prompts(model, [prompt], angles)
    ids = padded(completions, longest)
    own = read_completions(model, ids, torch.tensor([len(prompt)]), size, prefix, angles)
    hidden = torch.cat([last.repeat_interleave(size, 0)[:, None], own[:, :-1]], 1)  # (samples, longest, width)
    real = torch.arange(longest) < torch.tensor([len(completion) for completion in completions])[:, None]
    spread = torch.log_softmax(model.lm_head(hidden[real]).float() / temperature, -1)
    said = spread.gather(1, ids[real][:, None])[:, 0]
    with torch.no_grad():
        entropy = -(spread.exp() * spread).sum(-1)
    blank = torch.zeros(ids.shape)
    return blank.index_put((real,), said), blank.index_put((real,), entropy)


def read_prompts(
    model: Qwen3ForCausalLM, prompts: Sequence[Sequence[int]], angles: tuple[Tensor, Tensor]
) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """The last hidden state of each prompt (prompts, width), and keys and values of every layer."""
    prefix: list[tuple[Tensor, Tensor]] = []

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        prefix.append((k, v))
        return scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    lengths, longest = [len(prompt) for prompt in prompts], max(map(len, prompts))
    positions = torch.arange(longest).expand(len(prompts), -1)
    hidden = hidden_states(model, padded(prompts, longest), positions, angles, attend)
    return hidden[torch.arange(len(prompts)), torch.tensor(lengths) - 1], prefix


def read_completions(
    model: Qwen3ForCausalLM,
    ids: Tensor,
    lengths: Tensor,
    size: int,
    prefix: Sequence[tuple[Tensor, Tensor]],
    angles: tuple[Tensor, Tensor],
) -> Tensor:
    """Hidden states (samples, T, width) of completions, `size` of them after each prompt of these lengths."""
    (rows, time), groups = ids.shape, len(lengths)
    heads, kv, dim = heads_of(model)
    total = prefix[0][0].shape[2]
    unread = forbidden_from(lengths, total)[:, None, None]
    later = torch.full((time, time), FORBIDDEN).triu(1)

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        past_k, past_v = prefix[layer]
        q = (q * dim**-0.5).view(groups, size, kv, heads // kv, time, dim).transpose(1, 2)
        k, v = (x.view(groups, size, kv, 1, time, dim).transpose(1, 2) for x in (k, v))
        past = (q.reshape(groups, kv, -1, dim) @ past_k.mT + unread).view(*q.shape[:-1], total)
        weights = torch.cat([past, q @ k.mT + later], -1).softmax(-1)
        old, new = weights[..., :total], weights[..., total:]
        mixed: Tensor = (old.reshape(groups, kv, -1, total) @ past_v).view(q.shape) + new @ v
        return mixed.transpose(1, 2).reshape(rows, heads, time, dim)

    positions = lengths.repeat_interleave(size)[:, None] + torch.arange(time)
    return hidden_states(model, ids, positions, angles, attend)
