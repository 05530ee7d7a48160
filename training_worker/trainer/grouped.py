"""Log-probabilities of whole groups in one pass: the prompt a group shares is read once, not once per rollout.

Each group becomes one row: the prompt, then its completions one after another. A tree mask lets a completion see the
prompt and itself, and positions start again after the prompt, so the numbers are those of separate rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import Qwen3ForCausalLM

Span = tuple[int, int]


@dataclass(frozen=True)
class Packed:
    """Groups as rows: ids, positions and branch (groups, T); branch 0 is the prompt, -1 padding.

    `predictors` (tokens, 2) is the row and column whose output predicts each completion token, `targets` (tokens, 2) the
    sample and place of that token in the padded completions.
    """

    ids: Tensor
    positions: Tensor
    branch: Tensor
    predictors: Tensor
    targets: Tensor


def pack(prompts: Tensor, prompt_mask: Tensor, completions: Tensor, completion_mask: Tensor) -> Packed:
    """Pack padded samples (prompts on the left, completions on the right) into one row per distinct prompt."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, (prompt, mask) in enumerate(zip(prompts, prompt_mask, strict=True)):
        groups.setdefault(tuple(prompt[mask.bool()].tolist()), []).append(i)
    lengths = completion_mask.sum(1).tolist()
    width = max(len(prompt) + sum(lengths[i] for i in rows) for prompt, rows in groups.items())
    ids, positions = (torch.zeros(len(groups), width, dtype=torch.long) for _ in range(2))
    branch = torch.full((len(groups), width), -1)
    predictors, targets = [], []
    for row, (prompt, members) in enumerate(groups.items()):
        start = len(prompt)
        ids[row, :start], positions[row, :start], branch[row, :start] = torch.tensor(prompt), torch.arange(start), 0
        for number, sample in enumerate(members, 1):
            length = lengths[sample]
            here = slice(start, start + length)
            ids[row, here] = completions[sample, :length]
            positions[row, here] = len(prompt) + torch.arange(length)
            branch[row, here] = number
            predictors += [(row, len(prompt) - 1 if place == 0 else start + place - 1) for place in range(length)]
            targets += [(sample, place) for place in range(length)]
            start += length
    return Packed(ids, positions, branch, torch.tensor(predictors), torch.tensor(targets))


def tree_mask(branch: Tensor) -> Tensor:
    """Who may see whom, (groups, 1, T, T): earlier tokens of the prompt and of one's own completion."""
    seen = branch[:, None, :]
    allowed = ((seen == 0) | (seen == branch[:, :, None])).tril()
    return allowed[:, None]


def group_logprobs(
    model: Qwen3ForCausalLM,
    prompts: Tensor,
    prompt_mask: Tensor,
    completions: Tensor,
    completion_mask: Tensor,
    temperature: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Log-probabilities and entropies (samples, completion length) of the completion tokens; 0 where padded."""
    packed = pack(prompts, prompt_mask, completions, completion_mask)
    hidden = model.model(
        input_ids=packed.ids, position_ids=packed.positions, attention_mask=tree_mask(packed.branch), use_cache=False
    ).last_hidden_state
    logits = model.lm_head(hidden[packed.predictors[:, 0], packed.predictors[:, 1]]).float() / temperature
    spread = torch.log_softmax(logits, -1)
    sample, place = packed.targets[:, 0], packed.targets[:, 1]
    said = spread.gather(1, completions[sample, place][:, None])[:, 0]
    with torch.no_grad():
        entropy = -(spread.exp() * spread).sum(-1)
    blank = torch.zeros(completions.shape)
    return blank.index_put((sample, place), said), blank.index_put((sample, place), entropy)
