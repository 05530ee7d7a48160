"""How the fields of the launch form are laid out: what everyone chooses is open, the rest is folded until asked for."""

from __future__ import annotations

from dataclasses import dataclass

from . import evaluate_fields, grpo_fields, machine_fields, reward_fields


@dataclass(frozen=True)
class Section:
    """Fields under a title; `folded` until asked for, with the values of `brief` and all that is not as usual beside.

    `kind` is the only kind of run that has them, or "".
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
