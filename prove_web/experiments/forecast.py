"""What a run will do before it is launched, in a line: rollouts or conversations a step, and how many at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .form_fields import TIMES
from .models import RunKind

Value = Callable[[str], Any]


def forecast(form: Any) -> str:
    """The line for a launch form as it stands; "" while its numbers make no sense."""

    def parse_int(name: str) -> int:
        return int(float(str(form[name].value())))

    try:
        told = supervised(form, parse_int) if form["kind"].value() == RunKind.SFT else rollouts(parse_int)
        every = parse_int("evaluate_every")
        looks = f" Held-out evaluation every {every} steps." if every and parse_int("held_out") else ""
        return told + looks
    except (TypeError, ValueError, OverflowError):
        return ""


def rollouts(whole: Callable[[str], int]) -> str:
    prompts, group, steps = whole("prompts"), whole("group"), whole("max_steps")
    a_step = prompts * group
    return (
        f"{prompts} prompts {TIMES} {group} rollouts = {a_step:,} rollouts per step; "
        f"max {steps:,} steps = {a_step * steps:,} rollouts."
    )


def supervised(form: Any, whole: Callable[[str], int]) -> str:
    batch, epochs, most = whole("batch"), whole("epochs"), whole("max_steps")
    dataset = form.fields["dataset"].queryset.filter(pk=key(form["dataset"].value())).first()
    if dataset is None or batch < 1:
        return ""
    count = dataset.trajectories.filter(split="train").count()
    steps = min(most, count // batch * epochs)
    return f"{count:,} training conversations, {batch} per step: {epochs} epochs = max {steps:,} steps."


def key(value: Any) -> Any:
    """A data set's key, typed or chosen; None for what is none."""
    value = getattr(value, "pk", value)
    return value if str(value).isdecimal() and len(str(value)) < 10 else None
