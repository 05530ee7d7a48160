"""Layout of the launch form: common fields are open, the rest is in collapsed sections."""

from __future__ import annotations

from dataclasses import dataclass

from . import evaluate_fields, grpo_fields, machine_fields, reward_fields


@dataclass(frozen=True)
class Section:
    """A titled section of fields; if `folded`, its summary shows the `brief` fields and all changed ones.

    `kind` is the only kind of run that has the section, or "".
    """

    title: str
    names: tuple[str, ...]
    folded: bool = True
    kind: str = ""
    brief: tuple[str, ...] = ()


SECTIONS = (
    Section("Run", ("name", "kind", "dataset", "policy", "base", "minutes", "max_steps", "epochs"), folded=False),
    Section(
        "Optimizer",
        ("learning_rate", "batch", "longest", *grpo_fields.BASIC[2:], *grpo_fields.BASIC[:2]),
        brief=("learning_rate", "prompts", "group", "batch"),
    ),
    Section(
        "Evaluation", ("evaluate_every", "held_out", "patience", "seed"), brief=("evaluate_every", "held_out", "seed")
    ),
    Section("Reward", ("reward_preset", *reward_fields.NAMES), kind="grpo", brief=("reward_preset",)),
    Section(
        "Sampling and update",
        ("decay", "warmup_steps", *grpo_fields.SWITCHES),
        brief=("decay", "loss", "zero_variance", "limit_completion"),
    ),
    Section("Benchmarks after training", evaluate_fields.NAMES),
    Section("Machine", machine_fields.NAMES, brief=("threads", "device", "precision", "lora_rank")),
)
