"""Make the warm policy from demonstrations: tokenizer, fresh model, supervised stages, evaluation, card.

`python -m training_worker.trainer.warmup --data train.jsonl --out DIR --minutes 20 --seed 0`
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from ..prove.trajectory import Example, read_lines
from .curriculum import names, text, values, warmup_stages
from .evaluate import evaluate, table
from .grpo import file_digest, quiet
from .model import Shape, tiny_model
from .policy import save_policy
from .sft import SFTRun, fit
from .tokenizer import plain_tokenizer, train_tokenizer

TOKENIZER_TEXTS = 1_500


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    quiet()
    options.out.mkdir(parents=True, exist_ok=True)
    examples = list(read_lines(Example, options.data))
    training = [example for example in examples if example.split == "train"]
    development = [example for example in training if example.runs_here][: options.development]
    kept_back = {example.id for example in development}
    training = [example for example in training if example.id not in kept_back]
    tokenizer = tokenizer_for(training)
    stages = warmup_stages(tokenizer, training, options.longest, options.seed)
    model = tiny_model(tokenizer, options.seed)
    say(event="start", examples=len(training), vocabulary=len(tokenizer), parameters=model.num_parameters())
    digest = file_digest(options.data)
    run = SFTRun(
        minutes=options.minutes,
        steps=options.steps,
        seed=options.seed,
        state=own_state(options.out, digest, options.seed),
        threads=options.threads,
    )
    reporter = Reporter(model, tokenizer, development, options.evaluate_every)
    progress = fit(model, stages, run, reporter)
    card = {
        "made_by": "warmup",
        "data": {"file": options.data.name, "sha256": digest, "examples": len(training)},
        "left_out_as_too_long": len(training) - len(stages[-1].data),
        "seed": options.seed,
        "minutes": round(progress.seconds / 60, 2),
        "steps": progress.step,
        "tokens": progress.tokens,
        "losses": progress.losses,
        "shape": asdict(Shape()),
        "evaluation": reporter.measure(),
    }
    save_policy(options.out, model, tokenizer, card)
    say(event="saved", path=str(options.out), **card["losses"])
    return 0 if progress.share(run) >= 1 else 130


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="training_worker.trainer.warmup", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="examples, one JSON line each")
    parser.add_argument(
        "--out", type=Path, required=True, help="the policy's folder; a run on the same data goes on there"
    )
    parser.add_argument("--minutes", type=float, default=20.0, help="minutes of training")
    parser.add_argument("--steps", type=int, default=SFTRun.steps, help="a budget that makes the same weights again")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--longest", type=int, default=1_500, help="leave out conversations of more tokens")
    parser.add_argument("--development", type=int, default=64, help="examples kept back to evaluate on")
    parser.add_argument("--evaluate-every", type=float, default=120.0, help="seconds of training between evaluations")
    parser.add_argument("--threads", type=int, default=2)
    return parser


def own_state(folder: Path, digest: str, seed: int) -> Path:
    """Return where a run on some data keeps its state, and remove that of runs on other data."""
    own = folder / f"state-{digest[:12]}-{seed}.pt"
    for other in folder.glob("state*.pt"):
        if other != own:
            other.unlink()
    return own


def tokenizer_for(examples: Sequence[Example]) -> PreTrainedTokenizerFast:
    plain = plain_tokenizer()
    return train_tokenizer([text(plain, example) for example in examples[:TOKENIZER_TEXTS]], names(values(examples)))


class Reporter:
    """Prints progress, and every so often how the policy does on examples it was not trained on."""

    def __init__(
        self,
        model: Qwen3ForCausalLM,
        tokenizer: PreTrainedTokenizerFast,
        examples: Sequence[Example],
        every: float,
    ):
        self.model, self.tokenizer, self.examples, self.every = model, tokenizer, examples, every
        self.due = every

    def __call__(self, event: dict[str, Any]) -> None:
        say(**event)
        if event["seconds"] >= self.due:
            self.due = event["seconds"] + self.every
            say(event="evaluation", **self.measure())

    def measure(self) -> dict[str, Any]:
        """Sampled and greedy reward on the examples kept back, by chain length."""
        if not self.examples:
            return {}
        self.model.eval()
        found = {}
        for name, temperature in (("sampled", 1.0), ("greedy", 0.0)):
            rollouts = evaluate(self.model, self.tokenizer, self.examples, 1, temperature)
            found[name] = {line.steps: rounded(line.means) for line in table(self.examples, rollouts)}
        self.model.train()
        return found


def rounded(means: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in means.items()}


def say(**event: Any) -> None:
    print(json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in event.items()}), flush=True)


if __name__ == "__main__":
    torch.set_num_threads(2)
    sys.exit(main())
