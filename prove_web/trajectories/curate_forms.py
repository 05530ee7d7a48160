"""Forms that create a dataset from other datasets."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.http import QueryDict

from prove_web.accounts.models import Project
from prove_web.experiments.models import Run
from training_worker.datasets.dataset_split import By

from .models import Dataset
from .versions import LONGEST

NUMERIC = {"inputmode": "numeric"}
UNITS: tuple[tuple[By, str], ...] = (("world", "World"), ("example", "Conversation"))
MOST_STEPS = 500
SPAN = re.compile(r"([0-9]{1,7})(?: *- *([0-9]{1,7}))?")
STEPS_HELP = "Numbers and ranges, such as 1, 10-20, 350."


def name_field(help: str = "Default: “Dataset” and its number.") -> forms.CharField:
    return forms.CharField(max_length=LONGEST, required=False, help_text=help)


class NewVersion(forms.Form):
    """Dataset of selected trajectories."""

    name = name_field()


class Split(forms.Form):
    """Dataset with a held-out share."""

    name = name_field()
    percent = forms.FloatField(
        label="Held-out share (%)",
        min_value=0.1,
        max_value=90,
        initial=10,
        widget=forms.TextInput(attrs={"inputmode": "decimal"}),
        help_text="Approximate: a hash decides, so a world falls into the same split in every dataset.",
    )
    by = forms.ChoiceField(
        label="Split by",
        choices=UNITS,
        initial="world",
        help_text="Training conversations that share a world, an identifier or contents with a held-out one are left "
        "out and counted. Splitting by conversation leaves few where worlds are shared.",
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=999_999,
        initial=0,
        widget=forms.TextInput(attrs=NUMERIC),
        help_text="Another seed gives another split.",
    )

    @property
    def options(self) -> dict[str, Any]:
        found = self.cleaned_data
        return {"share": round(found["percent"] / 100, 6), "by": found["by"], "seed": found["seed"]}


class Mix(forms.Form):
    """Mix of several datasets by weight, with a field for each dataset of the project."""

    name = name_field()
    seed = forms.IntegerField(
        min_value=0,
        max_value=999_999,
        initial=0,
        widget=forms.TextInput(attrs=NUMERIC),
        help_text="Another seed gives another draw.",
    )
    most = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=1_000_000,
        label="Max training conversations",
        widget=forms.TextInput(attrs=NUMERIC),
        help_text="Default: as many as these proportions allow, each once.",
    )

    def __init__(self, project: Project, data: QueryDict | None = None, **kwargs: Any):
        super().__init__(data, **kwargs)
        demonstrations = Dataset.ContentKind.DEMONSTRATIONS
        self.sets = list(Dataset.objects.complete().filter(project=project, holds=demonstrations).select_related("job"))
        for one in self.sets:
            self.fields[f"weight_{one.number}"] = forms.FloatField(
                label=f"Weight of {one.name}",
                required=False,
                min_value=0,
                max_value=1_000,
                widget=forms.TextInput(attrs={"inputmode": "decimal"}),
            )

    @property
    def rows(self) -> list[tuple[Dataset, Any]]:
        return [(one, self[f"weight_{one.number}"]) for one in self.sets]

    def clean(self) -> dict[str, Any]:
        if len(self.weights) < 2 and not any(name.startswith("weight_") for name in self.errors):
            raise forms.ValidationError("Set a weight for at least two datasets, such as 1 and 0.5.")
        return self.cleaned_data

    @property
    def size(self) -> int:
        """The number of trajectories to choose from."""
        numbers = {number for number, _ in self.weights}
        return sum(one.trajectories.count() for one in self.sets if one.number in numbers)

    @property
    def weights(self) -> list[tuple[int, float]]:
        found = ((one.number, self.cleaned_data.get(f"weight_{one.number}")) for one in reversed(self.sets))
        return [(number, weight) for number, weight in found if weight]


class Collect(forms.Form):
    """Selection of a run's rollouts for a dataset."""

    name = name_field()
    steps = forms.CharField(max_length=200, help_text=STEPS_HELP)
    groups = forms.CharField(max_length=200, required=False, help_text="Group numbers within a step. Default: all.")
    low = forms.FloatField(required=False, label="Min reward", widget=forms.TextInput(attrs={"inputmode": "decimal"}))
    high = forms.FloatField(required=False, label="Max reward", widget=forms.TextInput(attrs={"inputmode": "decimal"}))
    failing = forms.BooleanField(required=False, label="Only rollouts with a failed call")

    def __init__(self, run: Run, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.run = run

    def clean_steps(self) -> tuple[int, ...]:
        return numbers(self.cleaned_data["steps"])

    def clean_groups(self) -> tuple[int, ...]:
        return numbers(self.cleaned_data["groups"])


def numbers(text: str) -> tuple[int, ...]:
    """Parse a list of numbers and ranges, in ascending order. Raises ValidationError."""
    found = set[int]()
    for part in filter(None, (part.strip() for part in text.split(","))):
        ends = SPAN.fullmatch(part)
        if ends is None:
            raise forms.ValidationError(f"“{part[:40]}” is invalid. Use numbers and ranges, such as 1, 10-20, 350.")
        low, high = int(ends[1]), int(ends[2] or ends[1])
        if high - low >= MOST_STEPS or len(found) >= MOST_STEPS:
            raise forms.ValidationError(f"More than {MOST_STEPS} numbers. Choose fewer.")
        found.update(range(low, high + 1))
    return tuple(sorted(found))
