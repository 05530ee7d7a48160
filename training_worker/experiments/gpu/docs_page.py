"""The GPU tables of docs/benchmarks.md."""

from __future__ import annotations

from typing import Any

from .options import Options


def markdown(learned: dict[str, Any], step: dict[str, Any], machine: str, options: Options) -> str:
    size = options.size
    servers = ", ".join(f"{name} ({count})" for name, count in learned["servers"].items())
    lines = [
        f"On one {machine}: {options.model.name} on {servers}, the number of tools that need a call before them; "
        f"{size.held_out} held-out conversations, {size.samples} samples each at temperature 1 and one greedy. "
        "Paired differences with 95% bootstrap intervals over conversations. The largest reward is 1.3. "
        f"A step of SFT reads {size.sft_batch} conversations"
        + (f", a step of GRPO {size.prompts} x {size.group} rollouts." if "grpo" in learned else "."),
        "",
        "| training | steps | minutes | sampled before | after | gain (95%) | greedy before | after | gain (95%) |",
        "| --- | ---: | ---: | --- | --- | --- | --- | --- | --- |",
    ]
    for name, of in (("SFT", learned["sft"]), ("then GRPO", learned.get("grpo"))):
        if of is None:
            continue
        cells = [cell for mode in ("sampled", "greedy") for cell in gain_cells(of[mode])]
        lines.append(f"| {name} | {of['steps']} | {of['seconds'] / 60:.1f} | " + " | ".join(cells) + " |")
    lines += [
        "",
        f"A model of {step['parameters'] / 1e9:.2f} billion random weights, LoRA, {step['batch']} rollouts a step that "
        f"do the ground truth's calls, {step['tokens']:,.0f} tokens a step with prompts of at most "
        f"{size.longest_prompt:,}; medians of {step['steps']} steps after the first:",
        "",
        "| seconds a step | generation | update | environment | reward | environment and reward | tokens a second |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        f"| {step['step_s']:.2f} | {step['generation_s']:.2f} | {step['update_s']:.2f} | {step['environment_s']:.3f} | "
        f"{step['reward_s']:.3f} | {step['environment_share']:.2%} | {step['total_per_s']:,.0f} |",
    ]
    return "\n".join(lines)


def gain_cells(gain: dict[str, float]) -> tuple[str, str, str]:
    interval = f"{gain['difference']:+.3f} ({gain['low']:+.3f} to {gain['high']:+.3f})"
    return f"{gain['before']:.3f}", f"{gain['after']:.3f}", interval
