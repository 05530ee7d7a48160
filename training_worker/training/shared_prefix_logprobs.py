"""Log-probabilities of whole groups with gradients: the prompt a group shares is read once, not once per rollout.

A group is one packed sequence, the prompt and then its completions, so nothing is padded. With several groups,
activations are held for one group at a time and the backward pass computes them again (activation checkpointing, Chen
et al. 2016), so memory does not grow with the number of groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate, chain

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

from ..policy.forward import Readable, causal_mask, hidden_states, rotary


def group_logprobs(
    model: Readable,
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Sequence[int]],
    wanted: Tensor,
    temperature: float,
) -> Tensor:
    """Return log-probabilities (samples, longest completion) of the `wanted` completion tokens; 0 elsewhere.

    Samples may come in any order; those with equal prompts are a group and share them. Nothing after a completion's
    last wanted token is read.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, prompt in enumerate(prompts):
        groups.setdefault(tuple(prompt), []).append(i)
    read = read_group
    if len(groups) > 1:
        read = partial(checkpoint, read_group, use_reentrant=False, preserve_rng_state=False)
    found, places = list[Tensor](), list[Tensor]()
    for prompt, rows in groups.items():
        here = wanted[rows].nonzero()
        lasts = [int(at[-1]) + 1 if len(at := row.nonzero()[:, 0]) else 0 for row in wanted[rows]]
        parts = [completions[row][:last] for row, last in zip(rows, lasts, strict=True)]
        found.append(read(model, prompt, parts, here, temperature))
        places.append(torch.stack([torch.tensor(rows)[here[:, 0]], here[:, 1]]))
    rows_at, tokens_at = torch.cat(places, 1)
    return torch.zeros(wanted.shape).index_put((rows_at, tokens_at), torch.cat(found))


def read_group(
    model: Readable,
    prompt: Sequence[int],
    completions: Sequence[Sequence[int]],
    wanted: Tensor,
    temperature: float,
) -> Tensor:
    """Return log-probabilities (wanted,) of single completion tokens of one prompt, by (completion, place)."""
    start, sizes = len(prompt), [len(completion) for completion in completions]
    ids = torch.tensor([[*prompt, *chain.from_iterable(completions)]])
    positions = torch.cat([torch.arange(start), *(start + torch.arange(size) for size in sizes)])
    masks = [causal_mask(start, start + size) for size in sizes]

    def attend(layer: int, *parts: Tensor) -> Tensor:
        (past_q, *own_q), (past_k, *own_k), (past_v, *own_v) = (x.split([start, *sizes], 2) for x in parts)
        mixed = [scaled_dot_product_attention(past_q, past_k, past_v, is_causal=True, enable_gqa=True)]
        for q, k, v, mask in zip(own_q, own_k, own_v, masks, strict=True):
            keys, values = torch.cat([past_k, k], 2), torch.cat([past_v, v], 2)
            mixed.append(scaled_dot_product_attention(q, keys, values, mask, enable_gqa=True))
        return torch.cat(mixed, 2)

    hidden = hidden_states(model, ids, positions[None], rotary(model, start + max(sizes)), attend)[0]
    bounds = [*accumulate(sizes, initial=start)]
    at = torch.tensor(bounds)[wanted[:, 0]] + wanted[:, 1]
    before = torch.where(wanted[:, 1] == 0, start - 1, at - 1)  # the place before each token
    spread = torch.log_softmax(model.lm_head(hidden[before]).float() / temperature, -1)
    return spread.gather(1, ids[0, at][:, None])[:, 0]
