"""Sweep form: the varied settings and the method; each member must be a valid launch form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import forms

from prove_web.accounts.models import Project

from .defaults import EVALUATE
from .forms import Offer, RunForm, usable
from .models import Sweep
from .reward_fields import ABLATIONS
from .search_space import MOST, BadSpace, Member, grid, parse, sample_members

ROWS = 4  # maximum number of varied settings
NEVER = {"name", "recipe", "base", *EVALUATE}  # identifiers, presets and benchmarks cannot vary
VARIABLE = {
    name: str(field.label or name.capitalize()) for name, field in RunForm.base_fields.items() if name not in NEVER
}
PRESETS = {
    "rates": ("The paper's learning rates", {"learning_rate": "1e-6, 3e-7, 5e-8"}),
    "ablations": ("Reward ablations", {"reward_preset": ", ".join(ABLATIONS)}),
    "seeds": ("Seeds", {"seed": "0, 1, 2"}),
}
MAX_LISTED = 5  # members whose errors are shown


@dataclass(frozen=True)
class PlannedMember:
    """A planned member: its varied settings and its launch form."""

    varied: Member
    form: RunForm


class SweepForm(forms.Form):
    prefix = "sweep"

    name = forms.CharField(max_length=60, help_text="Prefix of the run names, followed by the varied settings.")
    method = forms.ChoiceField(
        choices=Sweep.Method.choices,
        initial=Sweep.Method.GRID,
        help_text="Grid runs every combination; random covers a large space with few runs.",
    )
    budget = forms.IntegerField(
        label="Number of runs", min_value=1, max_value=MOST, initial=8, help_text=f"Runs to sample. 1 to {MOST}."
    )
    seed = forms.IntegerField(
        label="Sampling seed", min_value=0, max_value=999_999, initial=0, help_text="Same seed, same runs."
    )

    def __init__(self, project: Project, data: Any = None, **rest: Any):
        super().__init__(data, **rest)
        self.project, self.data_of_runs = project, data
        for row in range(1, ROWS + 1):
            self.fields[f"field_{row}"] = forms.ChoiceField(
                label="Setting", choices=[("", "None"), *VARIABLE.items()], required=False
            )
            self.fields[f"values_{row}"] = forms.CharField(label="Values", required=False, max_length=2_000)
        self.planned: list[PlannedMember] = []

    @property
    def rows(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        return [(self[f"field_{row}"], self[f"values_{row}"]) for row in range(1, ROWS + 1)]

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        given["space"] = dict(self.read_varied_settings())
        if not self.errors:
            try:
                given["members"] = self.members(given["space"])
            except BadSpace as why:
                self.add_error(self.row_of(why.field), str(why))
        if not self.errors:
            self.plan(given["members"])
        return given

    def read_varied_settings(self) -> Iterator[tuple[str, str]]:
        """Yield the varied settings as typed."""
        seen = set()
        for row in range(1, ROWS + 1):
            field, values = self.cleaned_data.get(f"field_{row}", ""), self.cleaned_data.get(f"values_{row}", "")
            if not field and values:
                self.add_error(f"field_{row}", "Choose the setting for these values.")
            elif field in seen:
                self.add_error(f"field_{row}", f"{VARIABLE[field]} is already varied. Put all its values in one row.")
            elif field:
                seen.add(field)
                yield field, values
        if not seen and not self.errors:
            self.add_error("field_1", "Choose at least one setting to vary.")

    def row_of(self, field: str) -> str | None:
        """Return the form field with the values of a setting; None for the whole form."""
        rows = (row for row in range(1, ROWS + 1) if field and self.cleaned_data.get(f"field_{row}") == field)
        return next((f"values_{row}" for row in rows), None)

    def members(self, space: dict[str, str]) -> list[Member]:
        """Return the members of the space. Raises BadSpace."""
        integers = {
            name for name, field in RunForm.base_fields.items() if type(field) is forms.IntegerField
        }  # no float
        parsed = {field: parse(field, text, field in integers) for field, text in space.items()}
        if self.cleaned_data["method"] == Sweep.Method.GRID:
            return grid(parsed)
        return sample_members(parsed, self.cleaned_data["budget"], self.cleaned_data["seed"])

    def plan(self, members: list[Member]) -> None:
        """Build a launch form for each member; report its errors by field and value."""
        offer, problems = Offer.load_for_project(self.project), dict[str, None]()
        for varied in members:
            form = RunForm(
                self.project,
                {**self.data_of_runs.dict(), **self.convert_to_form_values(varied), "name": "x"},
                offer=offer,
            )
            for field, said in form.errors.items():
                value = f" {varied[field]!r}" if field in varied else ""
                problems[f"{RunForm.base_fields[field].label or field.capitalize()}{value}: {said[0]}"] = None
            self.planned.append(PlannedMember(varied, form))
        if problems:
            more = f" And {len(problems) - MAX_LISTED} more." if len(problems) > MAX_LISTED else ""
            self.add_error(None, " ".join([*problems][:MAX_LISTED]) + more)

    def convert_to_form_values(self, varied: Member) -> Member:
        """Return the values in launch form format, with datasets identified by primary key instead of number."""
        if (number := varied.get("dataset", "")).isdecimal() and len(number) < 10:
            found = usable(self.project).filter(number=int(number)).first()
            return {**varied, "dataset": str(found.pk) if found else ""}
        return varied

    @property
    def base(self) -> RunForm:
        """Return the launch form of the shared settings as typed, with their errors."""
        typed = self.data_of_runs.dict()
        if not self.planned:
            return RunForm(self.project, initial=typed)
        shared, varied = self.planned[0].form, self.planned[0].varied
        for field in varied:
            shared.errors.pop(field, None)
        shared.data = shared.data | {field: typed.get(field, "") for field in varied}
        return shared


def name_of(sweep: str, varied: Member) -> str:
    """Return a member's name: the sweep's name and the varied settings, truncated to 80 characters."""
    text = f"{sweep}: " + ", ".join(f"{VARIABLE[field].lower()} {value}" for field, value in varied.items())
    return text if len(text) <= 80 else text[:79] + "…"


def rows_of(preset: str) -> dict[str, str]:
    """Return a preset as initial values of the form."""
    title, space = PRESETS[preset]
    rows = {"name": title}
    for row, (field, values) in enumerate(space.items(), 1):
        rows |= {f"field_{row}": field, f"values_{row}": values}
    return rows
