"""The warm-up that makes the small policy from demonstrations: tokenizer, new model, SFT stages, evaluation, card.

`make warmup`, or `python -m training_worker.experiments.warmup --out DIR --minutes 50`; without `--data` it makes its
own.
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

from mcp_servers.catalogue import compute_wording_digest, fingerprint

from ..core.stage_cache import StageFailed, code_digest, read, run_stage, write
from ..core.terminal import show_count_bar
from ..core.trajectory import Example, Split, read_lines, write_lines
from ..core.warm import DEVELOPMENT_SEED, SERVERS, TRAIN_SEED, UNSEEN_TOOLS
from ..graph.dependency_graph import build, part
from ..policy.model import Shape, tiny_model
from ..policy.policy_folder import SHORT, save_policy
from ..policy.tokenizer import plain_tokenizer, train_tokenizer
from ..synthesis.conversation import Recipe
from ..synthesis.dataset import synthesize
from ..synthesis.knobs import TINY
from ..training.curriculum import names, shorten_answers, text, values, warmup_stages
from ..training.evaluate import evaluate
from ..training.grpo import file_digest, silence_libraries
from ..training.metrics import outcome_means
from ..training.packed_sft import SFTRun, fit_model

TOKENIZER_TEXTS = 1_500
DEVELOPMENT_COUNT = 240  # conversations; proof.py evaluates on other held-out worlds
WARM = Shape(width=192, ffn=512)


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    for path in (options.data, options.development):
        if path and not path.is_file():
            parser().error(f"there is no file {path}")
    silence_libraries()
    options.out.mkdir(parents=True, exist_ok=True)
    if not options.data:
        made = conversations(options.out / "conversations", options.count)
        options.data = made / "train.jsonl"
        options.development = options.development or made / "development.jsonl"
    training = [shorten_answers(one) for one in read_lines(Example, options.data) if one.split == "train"]
    development = list(read_lines(Example, options.development)) if options.development else []
    tokenizer = tokenizer_for(training)
    stages = warmup_stages(tokenizer, training, options.longest, options.seed)
    model = tiny_model(tokenizer, options.seed, WARM)
    print_event(event="start", examples=len(training), vocabulary=len(tokenizer), parameters=model.num_parameters())
    digest = file_digest(options.data)
    state = own_state(options.out, digest, options.seed)
    budget: Any = {"minutes": options.minutes, "steps": options.steps, "threads": options.threads}
    run = SFTRun(**budget, seed=options.seed, state=state, decay=0.45, hold=0.2)
    reporter = Reporter(model, tokenizer, development, options.minutes, state)
    progress = fit_model(model, stages, run, reporter)
    card = {
        "made_by": "warmup",
        "answers": SHORT,
        "data": {"file": options.data.name, "sha256": digest, "examples": len(training)},
        "left_out_as_too_long": len(training) - len(stages[-1].data),
        "seed": options.seed,
        "minutes": round(progress.seconds / 60, 2),
        "steps": progress.step,
        "tokens": progress.tokens,
        "losses": progress.losses,
        "shape": asdict(WARM),
        "evaluation": reporter.quarters | {"end": reporter.measure()},
    }
    save_policy(options.out, model, tokenizer, card)
    print_event(event="saved", path=str(options.out), **card["losses"])
    return 0 if progress.share(run) >= 1 else 130


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="training_worker.experiments.warmup", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="examples, one JSON line each; by default those of the warm policy")
    parser.add_argument("--count", type=int, default=16_000, help="examples to synthesize without --data")
    parser.add_argument(
        "--out", type=Path, required=True, help="the policy's folder; a run on the same data resumes there"
    )
    parser.add_argument("--minutes", type=float, default=20.0, help="minutes of training")
    parser.add_argument(
        "--steps", type=int, default=SFTRun.steps, help="maximum steps; with them a run is reproducible"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--longest", type=int, default=1_500, help="leave out conversations with more tokens")
    parser.add_argument("--development", type=Path, help="examples of other worlds for evaluation at each quarter")
    parser.add_argument("--threads", type=int, default=2)
    return parser


def conversations(folder: Path, count: int) -> Path:
    """Return the folder of the warm policy's training and development conversations, synthesized once."""

    def make(folder: Path) -> dict[str, Any]:
        tools = part(build(servers=SERVERS), SERVERS, UNSEEN_TOOLS)
        plan: dict[str, tuple[int, Split, int]] = {
            "train": (count, "train", TRAIN_SEED),
            "development": (DEVELOPMENT_COUNT, "held_out", DEVELOPMENT_SEED),
        }
        for name, (number, split, seed) in plan.items():
            with show_count_bar(f"{name} conversations") as progress:
                made, report = synthesize(number, split, tools, Recipe(seed, knobs=TINY), progress)
            if lack := report.shortfall():
                raise StageFailed(lack)
            write_lines(folder / f"{name}.jsonl", made)
        return {}

    inputs = {"servers": fingerprint(SERVERS), "wording": compute_wording_digest(SERVERS), "code": code_digest()}
    return run_stage(folder, inputs | {"count": str(count), "unseen": ",".join(UNSEEN_TOOLS)}, make).folder


def own_state(folder: Path, digest: str, seed: int) -> Path:
    """Return the state file of a run on this data, and remove those of runs on other data."""
    own = folder / f"state-{digest[:12]}-{seed}.pt"
    for other in folder.glob("state*.pt"):
        if other != own:
            other.unlink()
    return own


def tokenizer_for(examples: Sequence[Example]) -> PreTrainedTokenizerFast:
    plain = plain_tokenizer()
    return train_tokenizer([text(plain, example) for example in examples[:TOKENIZER_TEXTS]], names(values(examples)))


class Reporter:
    """Progress output and, after each quarter of the minutes, an evaluation on worlds outside the training data."""

    def __init__(
        self,
        model: Qwen3ForCausalLM,
        tokenizer: PreTrainedTokenizerFast,
        examples: Sequence[Example],
        minutes: float,
        state: Path,
    ):
        self.model, self.tokenizer, self.examples, self.minutes = model, tokenizer, examples, minutes
        self.file = state.with_suffix(".json")  # next to the state, for a resumed run
        self.quarters: dict[str, Any] = read(self.file) if state.exists() else {}

    def __call__(self, event: dict[str, Any]) -> None:
        print_event(**event)
        quarter = int(4 * event["seconds"] / 60 / self.minutes)
        if self.examples and 0 < quarter < 4 and str(quarter) not in self.quarters:
            self.quarters[str(quarter)] = self.measure()
            write(self.file, self.quarters)
            print_event(event="evaluation", quarter=quarter, **self.quarters[str(quarter)])

    def measure(self) -> dict[str, Any]:
        """Return reward, components and success on the development examples that call tools, sampled and greedy."""
        chains = [one for one in self.examples if one.kind == "chain"]
        if not chains:
            return {}
        self.model.eval()
        found = {}
        for name, temperature in (("sampled", 1.0), ("greedy", 0.0)):
            rollouts = evaluate(self.model, self.tokenizer, chains, 1, temperature)
            found[name] = round_means(outcome_means([one for each in rollouts for one in each]))
        self.model.train()
        return found


def round_means(means: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in means.items()}


def print_event(**event: Any) -> None:
    print(json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in event.items()}), flush=True)


if __name__ == "__main__":
    torch.set_num_threads(2)
    sys.exit(main())
