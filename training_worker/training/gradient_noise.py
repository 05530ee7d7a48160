"""The gradient noise scale: the batch size at which a gradient is as much signal as noise.

With a mean cosine similarity c between the gradients of independent batches of size n it is n (1 / c - 1): the size at
which noise and gradient have the same length (McCandlish et al. 2018, arXiv:1812.06162).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..config.grpo import GRPORun
from ..core.trajectory import Example
from ..policy.conversation import EncodedConversation
from ..policy.policy_folder import Policy
from ..policy.threads import unsplit_operations
from ..rollout.generate import sample
from .curriculum import encode_full_demonstration, shorten_answers
from .dynamic_sampling import token_advantages
from .packed_sft import losses
from .token_advantages import call_finder

PROMPTS, GROUP = 8, 8
SIZE = PROMPTS * GROUP  # rollouts, or demonstrations, per batch
TITLES = {
    "rollout": f"GRPO, {SIZE} rollouts",
    "branch": f"GRPO, credit at the branches, {SIZE} rollouts",
    "supervised": f"supervised training, {SIZE} demonstrations",
}
FINAL_NORM = "model.norm.weight"  # its length scales the logits
Gradients = dict[str, Tensor]


def batch_gradients(
    policy: Policy, examples: Sequence[Example], batches: int, seed: int, prompts: int = PROMPTS, group: int = GROUP
) -> Iterator[Gradients]:
    """Yield for each batch the gradient (weights,) of the loss of each of TITLES."""
    generator = torch.Generator().manual_seed(seed)
    has_call = call_finder(policy.tokenizer)
    for _ in range(batches):
        prompted, demonstrated = (
            [examples[at] for at in torch.randperm(len(examples), generator=generator)[:count].tolist()]
            for count in (prompts, prompts * group)
        )
        made = sample(policy.model, policy.tokenizer, prompted, group, generator=generator)
        groups = list(split(made, group))
        conversations = [one.encode() for one in made]
        gradients = {}
        for credit in ("rollout", "branch"):
            config = GRPORun(policy=Path(), data=Path(), out=Path(), group=group, credit=credit)
            advantages = token_advantages(groups, config, has_call)
            gradients[credit] = gradient(policy, conversations, advantages, group)
        conversations = [encode_full_demonstration(policy.tokenizer, shorten_answers(one)) for one in demonstrated]
        masks = [one.mask for one in conversations]
        yield gradients | {"supervised": gradient(policy, conversations, masks, group)}


def split(rows: Sequence[Any], size: int) -> Iterator[list[Any]]:
    yield from ([*rows[at : at + size]] for at in range(0, len(rows), size))


def gradient(
    policy: Policy, conversations: Sequence[EncodedConversation], weights: Sequence[Sequence[float]], portion: int
) -> Tensor:
    """Return the gradient (weights,) of each token's negative log-likelihood times its weight, summed.

    `weights` are those of the last tokens of each conversation; `portion` conversations are differentiated at once.
    """
    trained = [*policy.model.parameters()]
    padded = [
        torch.tensor([*[0.0] * (len(one.ids) - len(row)), *row])
        for one, row in zip(conversations, weights, strict=True)
    ]

    def differentiate(some: Sequence[EncodedConversation], weights: Sequence[Tensor]) -> Tensor:
        if not any(weight.any() for weight in weights):
            return torch.zeros(sum(weight.numel() for weight in trained))
        nll, weight = losses(policy.model, some, weights)
        return torch.cat([one.flatten() for one in torch.autograd.grad((nll * weight).sum(), trained)])

    with unsplit_operations() as threads, ThreadPoolExecutor(threads) as pool:
        return torch.stack([*pool.map(differentiate, split(conversations, portion), split(padded, portion))]).sum(0)


def similarity(rows: Tensor) -> tuple[float, float]:
    """Return the mean cosine similarity of rows (batches, weights), at least three, and its jackknife error."""
    unit = torch.nn.functional.normalize(rows.double(), dim=1)
    count, cosines = len(rows), unit @ unit.T - torch.eye(len(rows))
    mean = cosines.sum() / (count * (count - 1))
    left_out = (cosines.sum() - 2 * cosines.sum(1)) / ((count - 1) * (count - 2))
    error = ((count - 1) / count * (left_out - left_out.mean()).square().sum()).sqrt()
    return float(mean), float(error)


def noise_scale(mean: float, error: float, size: int) -> str:
    """Return the noise scale; where the similarity is not beyond two standard errors, its lower bound."""
    if mean > 2 * error:
        return f"{size * (1 / mean - 1):,.0f}"
    return f"more than {size * (1 / (mean + 2 * error) - 1):,.0f}" if mean + 2 * error > 0 else "not found"


def table(policy: Policy, batches: Sequence[Gradients]) -> Iterator[str]:
    """Yield the table as lines of Markdown, and the t statistic of GRPO's gradient along the scale of the logits."""
    yield "| gradient of | cosine similarity of two batches (± standard error) | noise scale |\n| --- | ---: | ---: |"
    for name, title in TITLES.items():
        mean, error = similarity(torch.stack([one[name] for one in batches]))
        yield f"| {title} | {mean:.3f} ± {error:.3f} | {noise_scale(mean, error, SIZE)} |"
    names, weights = zip(*policy.model.named_parameters(), strict=True)
    at, sizes = names.index(FINAL_NORM), [weight.numel() for weight in weights]
    slopes = torch.stack([-one["rollout"].split(sizes)[at] @ weights[at].detach() for one in batches])
    t = float(slopes.mean() / slopes.std() * len(slopes) ** 0.5)
    yield f"\nAlong the scale of the logits (positive is sharper) the t statistic of GRPO's gradient is {t:.1f}."
