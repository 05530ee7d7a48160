"""The time of a step at the paper's size: a model of Qwen3-4B's shape with random weights, on the same worlds."""

from __future__ import annotations

import statistics
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any

from ...config.presets import settings_of
from ...core.stage_cache import Outcome, Summary
from .options import Options
from .real_model_experiment import Stage, Tell

MEASURES = (
    "step_s",
    "generation_s",
    "update_s",
    "environment_s",
    "reward_s",
    "environment_share",
    "total_per_s",
    "tokens",
)
LORA_RANK, MICRO_BATCH = 16, 4


def measure_step(options: Options, data: Outcome, stage: Stage, tell: Tell) -> Summary:
    """Return medians over the steps after the first.

    The paper's batch is 16 x 16; one GPU has fewer groups of that size.
    """
    size = options.size

    def work(folder: Path) -> Summary:
        from ...config.grpo import GRPORun, TokenLimits
        from ...policy.model_families import family_of
        from ...policy.policy_folder import load_tokenizer
        from ...policy.random_model import GroundTruth, ModelShape, save_shaped
        from ...training.grpo import train

        small = ModelShape(2, 64, 4, 2, 16, 128, len(load_tokenizer(options.model).tokenizer))
        shape = small if options.small else ModelShape()
        rmtree(folder / "run", ignore_errors=True)
        parameters = save_shaped(folder / "model", options.model, shape, size.shape_turn, device=options.device)
        steps: list[dict[str, float]] = []

        def record_step_event(event: dict[str, Any]) -> None:
            if event["event"] == "step":
                steps.append({name: float(event[name]) for name in MEASURES})
                tell(f"the model of 4B's shape, step {event['step']}: {event['step_s']:.1f} s")

        settings = settings_of("paper", "qwen3", parameters, lora=True) | {
            "prompts": size.shape_prompts,
            "group": size.group,
            "max_steps": size.shape_steps,
            "longest_prompt": size.longest_prompt,
            "limits": TokenLimits(turn=4 * size.shape_turn, completion=2 * size.completion),
            "precision": options.precision,
            "micro_batch": min(MICRO_BATCH, size.shape_prompts * size.group),
        }
        run = GRPORun(
            policy=folder / "model",
            data=data.folder / "train.jsonl",
            out=folder / "run",
            lora_rank=LORA_RANK,
            device=options.device,
            threads=options.threads,
            **settings,
        )
        form = family_of(load_tokenizer(options.model).tokenizer).format
        train(run, record_step_event, attempt=partial(GroundTruth, format=form))
        rmtree(folder / "model")
        counted = steps[1:] or steps
        medians = {name: statistics.median(one[name] for one in counted) for name in MEASURES}
        line = f"{medians['step_s']:.2f} s a step, {medians['environment_share']:.2%} of it environment and reward"
        batch = f"{size.shape_prompts} x {size.group}"
        return {"line": line, "parameters": parameters, "batch": batch, "steps": len(counted), **medians}

    named = ("longest_prompt", "completion", "group", "shape_prompts", "shape_steps", "shape_turn")
    return stage("step", {"data": data.key, "device": options.device, **size.select_values(*named)}, work).summary
