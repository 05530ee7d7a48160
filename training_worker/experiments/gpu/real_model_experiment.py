"""The experiment with a real model on the hardest servers: demonstrations, then GRPO, each evaluated held-out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mcp_servers.catalogue import compute_wording_digest, fingerprint

from ...core.stage_cache import Outcome, StageFailed, Summary, code_digest
from ...core.trajectory import Example, Rollout, read_lines, write_lines
from ...graph.dependency_graph import load_or_build
from ...synthesis.conversation import Recipe
from ...synthesis.dataset import synthesize
from ...synthesis.knobs import TINY
from ..pipeline import digest_of, find_shared_values
from .options import Options
from .server_difficulty import chained_tools, find_hardest_servers

Stage = Callable[[str, Summary, Callable[[Path], Summary]], Outcome]
Tell = Callable[[str], None]
MODES = (("sampled", 1.0), ("greedy", 0.0))
SPARE = 1.3  # conversations synthesized per conversation used: some prompts are too long
SEED = 40  # of the recipe; lower ones belong to the small policy's data


class RealModelExperiment:
    """The stages in their order; each is stored in its folder, and an interrupted one resumes."""

    def __init__(self, options: Options, stage: Stage, tell: Tell):
        self.options, self.size, self.stage, self.tell = options, options.size, stage, tell
        self.servers = options.servers or find_hardest_servers()

    def run(self) -> Summary:
        """Run all stages; return the paired differences of both trainings, without GRPO's if it has no steps."""
        data = self.data_set()
        before = self.measure("before", data, self.options.model)
        warm = self.train_sft(data)
        between = self.measure("after SFT", data, warm.folder / "policy")
        learned: Summary = {
            "servers": {name: chained_tools(name) for name in self.servers},
            "sft": {**warm.summary, **self.gains(data, before, between)},
        }
        if self.size.grpo_steps:
            trained = self.grpo(data, warm)
            after = self.measure("after GRPO", data, trained.folder / "policy")
            learned["grpo"] = {**trained.summary, **self.gains(data, between, after)}
        return learned

    def data_set(self) -> Outcome:
        def work(folder: Path) -> Summary:
            from ...policy.policy_folder import load_tokenizer
            from ...policy.prompts import prompt_length

            tokenizer = load_tokenizer(self.options.model).tokenizer
            graph = load_or_build(self.options.data / "graph", servers=self.servers)
            examples: dict[str, list[Example]] = {}
            for split, count in (("train", self.size.examples), ("held_out", self.size.held_out)):
                recipe = Recipe(SEED, knobs=TINY)
                made, _ = synthesize(int(count * SPARE) + 4, split, graph, recipe)  # type: ignore[arg-type]
                fitting = [one for one in made if prompt_length(tokenizer, one) <= self.size.longest_prompt]
                examples[split] = fitting[:count]
                write_lines(folder / f"{split}.jsonl", examples[split])
            if len(examples["held_out"]) < self.size.held_out:
                found, wanted = len(examples["held_out"]), self.size.held_out
                raise StageFailed(
                    f"Only {found} of {wanted} held-out conversations have prompts that are short enough."
                )
            if leaks := find_shared_values(examples["train"], examples["held_out"]):
                raise StageFailed(f"The held-out worlds share {len(leaks)} values with training: {leaks[:3]}.")
            line = f"{len(examples['train'])} training and {len(examples['held_out'])} held-out conversations"
            return {"line": f"{line} on {', '.join(self.servers)}"}

        options = {"examples": self.size.examples, "held_out": self.size.held_out, "longest": self.size.longest_prompt}
        code: Summary = {"servers": fingerprint(self.servers), "wording": compute_wording_digest(self.servers)}
        code |= {"synthesis code": code_digest(), "seed": SEED}
        return self.stage("data", {**code, **options, **self.start()}, work)

    def start(self) -> Summary:
        return {"model": digest_of(self.options.model), "device": self.options.device}

    def measure(self, name: str, data: Outcome, policy: Path) -> Outcome:
        def work(folder: Path) -> Summary:
            from ...training.eval_config import build_evaluation_config

            how, examples, means = build_evaluation_config(self.grpo_run(data, policy, folder)), held_out(data), {}
            found = how.load(policy)
            for mode, temperature in MODES:
                samples = self.size.samples if temperature else 1
                made = how.rollouts(found.model, found.tokenizer, examples, samples, temperature, seed=1)
                write_lines(folder / f"{mode}.jsonl", [rollout for rollouts in made for rollout in rollouts])
                totals = [one.reward.total for rollouts in made for one in rollouts if one.reward]
                means[mode] = sum(totals) / max(1, len(totals))
            return {"line": f"held-out reward {means['sampled']:.3f} sampled, {means['greedy']:.3f} greedy", **means}

        limits = {"samples": self.size.samples, "turn": self.size.turn, "completion": self.size.completion}
        return self.stage(name, {"data": data.key, "policy": digest_of(policy), **limits}, work)

    def train_sft(self, data: Outcome) -> Outcome:
        def work(folder: Path) -> Summary:
            from ...config.sft import SupervisedRun
            from ...training.sft_trainer import train_supervised

            size = self.size
            run = SupervisedRun(
                policy=self.options.model,
                data=data.folder / "train.jsonl",
                out=folder,
                batch=size.sft_batch,
                max_steps=size.sft_steps,
                epochs=100,
                learning_rate=size.sft_rate,
                longest=size.longest_prompt + size.completion,
                precision=self.options.precision,
                lora_rank=size.lora_rank,
                gradient_checkpointing=True,
                device=self.options.device,
                threads=self.options.threads,
            )
            return self.summarize_training(train_supervised(run, self.step_printer("SFT", "loss")))

        named = ("longest_prompt", "completion", "lora_rank", "sft_steps", "sft_batch", "sft_rate")
        return self.stage("sft", {"data": data.key, **self.size.select_values(*named), **self.start()}, work)

    def grpo(self, data: Outcome, warm: Outcome) -> Outcome:
        def work(folder: Path) -> Summary:
            from ...training.grpo import train

            return self.summarize_training(
                train(self.grpo_run(data, warm.folder / "policy", folder), self.step_printer("GRPO", "reward"))
            )

        sizes = self.size.select_values("longest_prompt", "turn", "completion", "lora_rank", "prompts", "group")
        sizes |= self.size.select_values("grpo_steps", "grpo_minutes", "grpo_rate")
        return self.stage("grpo", {"sft": warm.key, **sizes, **self.start()}, work)

    def grpo_run(self, data: Outcome, policy: Path, out: Path) -> Any:
        from ...config.grpo import GRPORun, TokenLimits

        size = self.size
        return GRPORun(
            policy=policy,
            data=data.folder / "train.jsonl",
            out=out,
            prompts=size.prompts,
            group=size.group,
            max_steps=size.grpo_steps,
            minutes=size.grpo_minutes,  # the trainer is checked without optional types
            learning_rate=size.grpo_rate,
            decay=0.3,
            longest_prompt=size.longest_prompt,
            limits=TokenLimits(turn=size.turn, completion=size.completion),
            lora_rank=size.lora_rank,
            precision=self.options.precision,
            micro_batch=1 if self.options.small else 16,
            gradient_checkpointing=True,
            device=self.options.device,
            threads=self.options.threads,
        )

    def step_printer(self, name: str, headline: str) -> Callable[[dict[str, Any]], None]:
        def print_step_event(event: dict[str, Any]) -> None:
            if event["event"] == "step":
                self.tell(f"{name}, step {event['step']}: {headline} {event[headline]:.3f}, {event['step_s']:.1f} s")

        return print_step_event

    def summarize_training(self, trained: Any) -> Summary:
        """Return a training's summary. Raises KeyboardInterrupt after Ctrl-C: the progress is in a checkpoint."""
        if trained.ended == "stopped":
            raise KeyboardInterrupt
        line = f"{trained.step} steps in {trained.seconds:.0f} s"
        return {"line": line, "steps": trained.step, "seconds": trained.seconds}

    def gains(self, data: Outcome, before: Outcome, after: Outcome) -> Summary:
        from ...training.evaluate import compare_policies

        count = len(held_out(data))
        return {
            mode: asdict(compare_policies(rollouts(before, mode, count), rollouts(after, mode, count)))
            for mode, _ in MODES
        }


def held_out(data: Outcome) -> list[Example]:
    return list(read_lines(Example, data.folder / "held_out.jsonl"))


def rollouts(stage: Outcome, mode: str, examples: int) -> list[list[Rollout]]:
    flat = list(read_lines(Rollout, stage.folder / f"{mode}.jsonl"))
    each = len(flat) // examples
    return [flat[i : i + each] for i in range(0, len(flat), each)]
