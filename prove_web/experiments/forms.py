"""The launch form of a run: its settings with defaults, limits, and what is healthy.

The defaults are those of the trainer, which the web does not import; a test compares them.
"""

from __future__ import annotations

import os
from typing import Any

from django import forms

from prove_web.accounts.models import Project
from prove_web.live.models import State
from prove_web.trajectories.models import Dataset

from .models import Run

CORES = os.cpu_count() or 1
DEFAULTS: dict[str, int | float] = {
    "minutes": 6.0,
    "max_steps": 350,
    "learning_rate": 2e-4,
    "prompts": 8,
    "group": 8,
    "temperature": 1.0,
    "beta": 0.0,
    "evaluate_every": 20,
    "held_out": 200,
    "seed": 0,
    "threads": min(2, CORES),
}


def plain(value: Any) -> str:
    """A number as people write it: 6 for 6.0."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:g}"


def number(label: str, name: str, least: float, most: float, help_text: str) -> forms.Field:
    """A field for a number of its default's type."""
    whole = isinstance(DEFAULTS[name], int)
    kind = forms.IntegerField if whole else forms.FloatField
    widget = forms.NumberInput(attrs={"step": 1 if whole else "any", "inputmode": "numeric" if whole else "decimal"})
    field: forms.Field = kind(
        label=label, min_value=least, max_value=most, initial=plain(DEFAULTS[name]), help_text=help_text, widget=widget
    )
    return field


class RunForm(forms.Form):
    name = forms.CharField(max_length=80, help_text="What the runs table calls it. Say what is different this time.")
    dataset = forms.ModelChoiceField(
        Dataset.objects.none(),
        label="Data set",
        empty_label=None,
        help_text="Its training conversations are asked, its held-out ones measured. Only finished ones are listed.",
    )
    minutes = number("Minutes", "minutes", 0.1, 600, "Of training; evaluations come on top. 6 shows a first rise.")
    max_steps = number("Most steps", "max_steps", 1, 100_000, "It ends after these or after the minutes. 100 to 1000.")
    learning_rate = number(
        "Learning rate", "learning_rate", 1e-7, 1e-2, "2e-4 for the tiny policy; 1e-6 to 1e-5 for large ones."
    )
    prompts = number("Prompts per step", "prompts", 1, 64, "Conversations asked in one step. 8 to 32.")
    group = number("Group size", "group", 2, 64, "Rollouts of each prompt, compared with each other. 8 to 16.")
    temperature = number("Temperature", "temperature", 0.1, 2, "Of sampling. Near 1: lower, and groups become equal.")
    beta = number("KL coefficient", "beta", 0, 1, "Holds the policy near its start. 0 to 0.01; 0 is fastest.")
    evaluate_every = number(
        "Evaluate every",
        "evaluate_every",
        0,
        100_000,
        "Steps between two looks at held-out worlds. 10 to 50; 0 for none.",
    )
    held_out = number(
        "Held-out conversations", "held_out", 0, 10_000, "Measured before and after. 200 tell a change of 0.03."
    )
    seed = number("Seed", "seed", 0, 19, "Same seed, same data order. Compare settings over three seeds.")
    threads = number("Threads", "threads", 1, CORES, f"Of {CORES} on this machine. 2 for the tiny policy.")

    parts = (
        ("What", ("name", "dataset")),
        ("How long", ("minutes", "max_steps")),
        ("How it learns", ("learning_rate", "beta", "prompts", "group", "temperature")),
        ("How it is measured", ("evaluate_every", "held_out")),
        ("Seed and machine", ("seed", "threads")),
    )

    def __init__(self, project: Project, *args: Any, **rest: Any):
        super().__init__(*args, **rest)
        self.fields["dataset"].queryset = usable(project)

    @property
    def sections(self) -> list[tuple[str, list[forms.BoundField]]]:
        return [(title, [self[name] for name in names]) for title, names in self.parts]

    @property
    def spec(self) -> dict[str, Any]:
        """What the worker is asked to do."""
        given = self.cleaned_data
        start = {"dataset": str(given["dataset"].job_id), "policy": "warm"}
        return start | {name: given[name] for name in DEFAULTS}


def usable(project: Project) -> Any:
    """The data sets of a project that a run can train on."""
    return Dataset.objects.filter(project=project, job__state=State.DONE)


def copied(run: Run) -> dict[str, Any]:
    """What a new run begins with that is to be like this one."""
    known = {name: plain(value) for name, value in run.config.items() if name in DEFAULTS}
    return {"name": f"{run.name[:73]} (copy)", "dataset": run.dataset_id, **known}


def settings_of(config: dict[str, Any]) -> list[tuple[str, str, str]]:
    """A run's settings: label, value, and the default where that is another one."""
    labels = {name: field.label for name, field in RunForm.base_fields.items()}
    shown = {**DEFAULTS, **{name: value for name, value in config.items() if name not in ("dataset", "policy")}}
    return [
        (
            labels.get(name) or name.replace("_", " ").capitalize(),
            plain(value),
            plain(DEFAULTS[name]) if name in DEFAULTS and DEFAULTS[name] != value else "",
        )
        for name, value in shown.items()
    ]
