"""Forms that create and edit a queue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from django import forms
from django.db.models import QuerySet

from prove_web.accounts.models import Project, User
from prove_web.experiments.models import Run
from prove_web.live.models import State
from prove_web.trajectories.models import Dataset
from prove_web.trajectories.search import SearchResult, search

from .assignment import ANNOTATORS
from .models import Item, Queue
from .sampling import HALF, MOST_ITEMS, Sampling, SamplingMethod, StratificationKey, sample

# a number input would drop invalid text before we report it
INTEGER_INPUT = forms.TextInput(attrs={"inputmode": "numeric"})
OFFERED = 200  # datasets and runs in a list


def build_integer_field(least: int, most: int, **rest: Any) -> forms.IntegerField:
    """Return a field for a whole number within limits, which every error names."""
    message = f"Enter a whole number from {least:,} to {most:,}."
    field = forms.IntegerField(min_value=least, max_value=most, widget=INTEGER_INPUT, **rest)
    field.error_messages = {"required": message, "invalid": message}
    for limit in field.validators:
        limit.message = message
    return field


class QueueForm(forms.Form):
    """Review settings of a queue, which can be changed later."""

    name = forms.CharField(max_length=80)
    instructions = forms.CharField(
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Shown beside every item. Markdown: **bold**, lists, links, `code`.",
    )
    reviewers = build_integer_field(1, 20, label="Overlap", initial=1, help_text="Reviews per item, 1 to 20.")
    people = forms.MultipleChoiceField(
        label="Assign to",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Splits the items among the selected people. With nobody selected, reviewers get the next free item.",
        error_messages={
            "invalid_choice": "A selected person is no longer in the team or cannot annotate. Change the selection."
        },
    )
    blind = forms.BooleanField(
        required=False,
        initial=True,
        help_text="Hides the reward and other reviewers' answers until your own review is complete.",
    )
    hold_minutes = build_integer_field(
        1,
        1440,
        label="Lock timeout (min)",
        initial=15,
        help_text="Releases an item after 1 to 1,440 minutes without activity.",
    )

    def __init__(self, project: Project, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.project = project
        rows = project.organisation.memberships.filter(role__in=ANNOTATORS).select_related("user")
        self.members = {str(row.user_id): row.user for row in rows.order_by("user__username")}
        self.fields["people"].choices = [(key, user.get_username()) for key, user in self.members.items()]

    def clean_name(self) -> str:
        return " ".join(self.cleaned_data["name"].split())

    @property
    def chosen(self) -> list[User]:
        return [self.members[key] for key in self.cleaned_data["people"]]

    def get_queue_fields(self) -> dict[str, Any]:
        """Return the queue's fields."""
        return {
            name: self.cleaned_data[name] for name in ("name", "instructions", "reviewers", "blind", "hold_minutes")
        }


class NewQueue(QueueForm):
    """A queue and the selection of its items: a search, and a sample of its results."""

    query = forms.CharField(
        label="Search",
        required=False,
        max_length=2_000,
        help_text="Same syntax as in the library. Empty: all trajectories.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    dataset = forms.TypedChoiceField(label="Dataset", required=False, coerce=int, empty_value=None)
    how = forms.ChoiceField(label="Sampling", choices=SamplingMethod.choices, initial=SamplingMethod.ALL)
    n = build_integer_field(
        1, MOST_ITEMS, label="Sample size", initial=100, required=False, help_text=f"1 to {MOST_ITEMS:,}."
    )
    by = forms.ChoiceField(
        label="Stratify by", choices=StratificationKey.choices, initial=StratificationKey.KIND, required=False
    )
    run = forms.TypedChoiceField(label="Run", required=False, coerce=int, empty_value=None)
    seed = build_integer_field(
        0, 1_000_000, initial=0, required=False, help_text="The same seed selects the same trajectories."
    )

    def __init__(self, project: Project, *args: Any, **kwargs: Any):
        super().__init__(project, *args, **kwargs)
        sets, runs = Dataset.objects.filter(project=project), Run.objects.filter(project=project)
        self.fields["dataset"].choices = [("", "All datasets"), *self.iter_choices(sets, "dataset")]
        self.fields["run"].choices = [("", "Choose a run"), *self.iter_choices(runs, "run")]

    def iter_choices(self, rows: QuerySet, field: str) -> Iterator[tuple[int, str]]:
        """Yield the newest rows, and the selected one."""
        current = str((self.data if self.is_bound else self.initial).get(field) or "")
        names = dict(rows.values_list("number", "name")[:OFFERED])
        if current.isdecimal() and len(current) < 10:
            names |= dict(rows.filter(number=current).values_list("number", "name"))
        return ((number, f"#{number} {name}") for number, name in names.items())

    def search(self) -> SearchResult:
        """Search complete datasets as the submitted form says.

        A dataset in creation starts over if it fails, and reviews of its trajectories would be lost.
        """
        data = self.cleaned_data
        chosen = data.get("dataset")
        of = Dataset.objects.filter(project=self.project, number=chosen).first() if chosen else None
        found = search(self.project, data.get("query", ""), of)
        return replace(found, rows=found.rows.filter(dataset__job__state=State.DONE))

    def rule(self) -> Sampling:
        data = self.cleaned_data
        how, by = SamplingMethod(data["how"]), StratificationKey(data.get("by") or StratificationKey.KIND)
        most = MOST_ITEMS if how == SamplingMethod.ALL else data.get("n") or MOST_ITEMS
        return Sampling(how, most, by, data.get("seed") or 0, data.get("run"))

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if (
            data.get("how") in (SamplingMethod.RANDOM, SamplingMethod.STRATIFIED)
            and data.get("n") is None
            and "n" not in self.errors
        ):
            self.add_error("n", f"Enter a whole number from 1 to {MOST_ITEMS:,}.")
        if data.get("how") == SamplingMethod.FAILING and not data.get("run"):
            self.add_error("run", "Choose the run whose failures count.")
        if "query" in data and "dataset" in data and (fault := self.search().fault):
            self.add_error("query", f"At character {fault.at + 1}: {fault.message}")
        return data

    def sample_items(self) -> list[int]:
        """Return the trajectories to review, in order."""
        return sample(self.search().rows, self.rule(), self.project)

    def build_source_config(self) -> dict[str, Any]:
        """Return the source of the items, as the queue stores it."""
        rule, data = self.rule(), self.cleaned_data
        used: dict[str, Any] = {"how": rule.how} | (
            {} if rule.how == SamplingMethod.ALL else {"n": rule.n, "seed": rule.seed}
        )
        used |= {"by": rule.by} if rule.how == SamplingMethod.STRATIFIED else {}
        used |= {"run": rule.run} if rule.how == SamplingMethod.FAILING else {}
        used |= {"reward": HALF} if rule.how == SamplingMethod.DISAGREEMENTS else {}
        return {"source": {"query": data["query"], "dataset": data["dataset"]}, "sampling": used}


def as_initial(queue: Queue) -> dict[str, Any]:
    """Return the initial values of a queue's form."""
    rows = Item.assigned.through.objects.filter(item__queue=queue, item__state=Item.State.OPEN)
    people = [str(key) for key in rows.values_list("user", flat=True).distinct()]
    names = ("name", "instructions", "reviewers", "blind", "hold_minutes")
    return {name: getattr(queue, name) for name in names} | {"people": people}
