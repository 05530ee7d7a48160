"""How the fields of the launch form are laid out: what everyone needs is open, the rest is folded until asked for."""

from __future__ import annotations

from dataclasses import dataclass

from . import grpo_fields, machine_fields, reward_fields


@dataclass(frozen=True)
class Section:
    """Fields under a title; `folded` until asked for. `kind` is the only kind of run that has them, or ""."""

    title: str
    names: tuple[str, ...]
    folded: bool = False
    kind: str = ""
    text: str = ""


SECTIONS = (
    Section("What", ("name", "kind", "dataset", "policy")),
    Section("How long", ("minutes", "max_steps", "epochs")),
    Section("How it learns", ("learning_rate", "batch", "longest", *grpo_fields.BASIC[2:], *grpo_fields.BASIC[:2])),
    Section("How it is measured", ("evaluate_every", "held_out", "patience", "seed")),
    Section(
        "Reward",
        ("reward_preset", *reward_fields.NAMES),
        folded=True,
        kind="grpo",
        text="The paper's five components, one of its ablations, another form, or weights of your own",
    ),
    Section(
        "Sampling and update",
        ("decay", "warmup_steps", *grpo_fields.SWITCHES),
        folded=True,
        text="Loss, clipping, groups without signal, difficulty, token limits, the learning rate's way",
    ),
    Section(
        "Machine",
        machine_fields.NAMES,
        folded=True,
        text="Threads, precision, LoRA, memory, how rollouts are made, several processes",
    ),
)
