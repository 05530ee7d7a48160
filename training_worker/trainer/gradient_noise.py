"""How much one batch of rollouts tells: the likeness of the gradients of independent batches of the warm policy.

`make noise` measures it and writes the table into docs/benchmarks.md. With a likeness c of batches of n rollouts the
gradient noise scale (McCandlish et al. 2018, arXiv:1812.06162) is n (1 / c - 1): the number of rollouts at which the
noise of a batch's gradient is as large as the gradient.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import TypeVar

import torch
from rich.console import Console
from torch import Tensor

from ..benchmark_page import PAGE, write_block
from ..pipeline import LONGEST_PROMPT, ended
from ..proof import Experiment
from ..prove.trajectory import Example
from ..terminal import bar
from .conversation import Encoded
from .credit import call_finder
from .curriculum import full, shorten_answers
from .groups import token_advantages
from .grpo import quiet
from .grpo_run import GRPORun
from .policy import Policy, load_policy
from .rejection import fits
from .sampler import Sample, sample
from .sft import losses
from .threads import unsplit_operations

PROMPTS, GROUP = 8, 8
ROLLOUTS = PROMPTS * GROUP
TITLES = {
    "rollout": f"GRPO, {ROLLOUTS} rollouts",
    "branch": f"GRPO, credit at the branches, {ROLLOUTS} rollouts",
    "supervised": f"supervised training, {ROLLOUTS} demonstrations",
}
Gradients = dict[str, Tensor]
T = TypeVar("T")


def gradients(
    policy: Policy, examples: Sequence[Example], batches: int, seed: int, prompts: int = PROMPTS, group: int = GROUP
) -> Iterator[Gradients]:
    """Yield for each batch the gradient (weights,) of each kind: of rollouts, and of as many demonstrations."""
    generator = torch.Generator().manual_seed(seed)
    has_call = call_finder(policy.tokenizer)
    for _ in range(batches):
        some, others = (
            [examples[at] for at in torch.randperm(len(examples), generator=generator)[:count].tolist()]
            for count in (prompts, prompts * group)
        )
        made = sample(policy.model, policy.tokenizer, some, group, generator=generator)
        groups = [[*members] for members in split(made, group)]
        read = [encode(members) for members in groups]
        found = {}
        for credit in ("rollout", "branch"):
            config = GRPORun(policy=Path(), data=Path(), out=Path(), group=group, credit=credit)
            rows = token_advantages(groups, config, has_call)
            weights = [pad_left(row, len(one.ids)) for row, one in zip(rows, chain.from_iterable(read), strict=True)]
            found[credit] = gradient(policy, [*zip(read, split(weights, group), strict=True)])
        shown = [full(policy.tokenizer, shorten_answers(example)) for example in others]
        parts = [(some, [pad_left(one.mask, len(one.ids)) for one in some]) for some in split(shown, group)]
        yield found | {"supervised": gradient(policy, parts)}


def encode(members: Sequence[Sample]) -> list[Encoded]:
    return [
        Encoded((*one.prompt_ids, *one.completion_ids), (*[0] * len(one.prompt_ids), *one.env_mask)) for one in members
    ]


def split(rows: Sequence[T], size: int) -> list[Sequence[T]]:
    return [rows[at : at + size] for at in range(0, len(rows), size)]


def pad_left(weights: Sequence[float], length: int) -> Tensor:
    return torch.tensor([*[0.0] * (length - len(weights)), *weights])


def gradient(policy: Policy, parts: Sequence[tuple[Sequence[Encoded], Sequence[Tensor]]]) -> Tensor:
    """Return the gradient (weights,) of the sum of each token's negative log-likelihood times its weight."""
    trained = [*policy.model.parameters()]

    def differentiate(part: tuple[Sequence[Encoded], Sequence[Tensor]]) -> Tensor:
        if not any(weight.any() for weight in part[1]):
            return torch.zeros(sum(weight.numel() for weight in trained))
        nll, weight = losses(policy.model, *part)
        return torch.cat([one.flatten() for one in torch.autograd.grad((nll * weight).sum(), trained)])

    with unsplit_operations() as threads, ThreadPoolExecutor(threads) as pool:
        return torch.stack([*pool.map(differentiate, parts)]).sum(0)


def likeness(rows: Tensor) -> tuple[float, float]:
    """Return the mean cosine between rows (batches, weights), at least three, and its standard error by jackknife."""
    unit = torch.nn.functional.normalize(rows.double(), dim=1)
    cosines = unit @ unit.T - torch.eye(len(rows))
    count = len(rows)
    mean = cosines.sum() / (count * (count - 1))
    left_out = (cosines.sum() - 2 * cosines.sum(1)) / ((count - 1) * (count - 2))
    error = ((count - 1) / count * (left_out - left_out.mean()).square().sum()).sqrt()
    return float(mean), float(error)


def noise_scale(mean: float, error: float, size: int) -> str:
    """Return the noise scale of batches of a size; where the likeness is not beyond chance, its lower bound."""
    if mean > 2 * error:
        return f"{size * (1 / mean - 1):,.0f}"
    return f"more than {size * (1 / (mean + 2 * error) - 1):,.0f}" if mean + 2 * error > 0 else "not found"


def table(policy: Policy, found: Sequence[Gradients]) -> Iterator[str]:
    """Yield the lines of the table, and how sure the gradient is of the scale of the logits."""
    yield "| gradient of | likeness of two batches (± standard error) | noise scale |\n| --- | ---: | ---: |"
    for name, title in TITLES.items():
        mean, error = likeness(torch.stack([one[name] for one in found]))
        yield f"| {title} | {mean:.3f} ± {error:.3f} | {noise_scale(mean, error, ROLLOUTS)} |"
    scale, at = policy.model.model.norm.weight.detach(), 0
    for name, weight in policy.model.named_parameters():
        if name == "model.norm.weight":
            break
        at += weight.numel()
    along = torch.stack([-one["rollout"][at : at + len(scale)] @ scale for one in found])
    sure = float(along.mean() / along.std() * len(along) ** 0.5)
    yield f"\nAlong the scale of the logits alone (sharper or flatter choices) GRPO's gradient has a t of {sure:.1f}."


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="training_worker.trainer.gradient_noise", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("data") / "proof", help="folder of `make proof`")
    parser.add_argument("--policy", type=Path, default=Path(__file__).parent / "warm")
    parser.add_argument("--batches", type=int, default=14)
    parser.add_argument("--examples", type=int, default=4_000, help="training conversations, as for `make proof`")
    parser.add_argument("--threads", type=int, default=2)
    options, console = parser.parse_args(argv), Console()
    vars(options).update(experiment="proof", development=False, results=options.data)

    def work() -> None:
        quiet()
        torch.set_num_threads(options.threads)
        policy = load_policy(options.policy)
        examples = [one for one in Experiment(options, console).examples("train") if fits(policy, one, LONGEST_PROMPT)]
        found = list[Gradients]()
        with bar(console, "batches") as progress:
            for one in gradients(policy, examples, options.batches, seed=0):
                found.append(one)
                progress.set(len(found), options.batches, "batches")
        write_block("noise", f"{options.batches} batches of each.\n\n" + "\n".join(table(policy, found)))
        console.print(f"Table written to {PAGE}.", highlight=False, soft_wrap=True)

    return ended(work, options.data, console)


if __name__ == "__main__":
    sys.exit(main())
