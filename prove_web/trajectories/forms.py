"""Form that creates a dataset."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db import transaction

from mcp_servers.catalogue import SERVERS, TOOLS
from prove_web.accounts.models import Project, User
from prove_web.environments.enabled_servers import list_enabled_servers
from prove_web.live.jobs import enqueue
from training_worker.core.warm import SERVERS as WARM_SERVERS
from training_worker.datasets.recipes import PLANS, Plan
from training_worker.graph.dependency_graph import LONGEST_CHAIN

from .models import Dataset
from .versions import begin

# a number input would drop invalid text before we report it
INTEGER_INPUT = forms.TextInput(attrs={"inputmode": "numeric"})
NUMBERS = ("seed", "train", "held_out", "candidates")
OF_A_CHAIN = {"train": 200, "held_out": 40}  # initial values of a form about one chain, or about a few tools


def tools_of(chain: str) -> tuple[str, ...]:
    """Return the tools of a chain in a URL."""
    return tuple(filter(None, chain.split(",")))


def format_recipe_label(plan: Plan) -> str:
    """Return the label of a recipe."""
    return f"{plan.name}: {sum(plan.train.values()):,} and {sum(plan.held_out.values()):,} held out, {plan.title}"


class NewDataset(forms.Form):
    """Number and kind of conversations; each is validated by a replay."""

    name = forms.CharField(max_length=80, required=False, help_text="Default: “Dataset” and its number.")
    chain = forms.CharField(max_length=400, required=False, widget=forms.HiddenInput)
    tools = forms.CharField(max_length=12_000, required=False, widget=forms.HiddenInput)
    recipe = forms.ChoiceField(
        required=False,
        help_text="A recipe sets all other fields: servers, exact counts and the worlds that conversations share.",
        error_messages={"invalid_choice": "Unknown recipe “%(value)s”."},
    )
    servers = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        initial=list(WARM_SERVERS),
        help_text="Servers whose tools are used. The included warm-start policy knows the three that are preselected.",
        error_messages={
            "required": "Select at least one server.",
            "invalid_choice": "Server “%(value)s” does not exist or is switched off.",
        },
    )
    train = forms.IntegerField(
        widget=INTEGER_INPUT,
        label="Training conversations",
        min_value=10,
        max_value=20_000,
        initial=2_000,
        help_text="Number of draws, 10 to 20,000; duplicates and draws that fail their replay are dropped.",
    )
    held_out = forms.IntegerField(
        widget=INTEGER_INPUT,
        label="Held-out conversations",
        min_value=0,
        max_value=2_000,
        initial=200,
        help_text="0 to 2,000, in worlds that share no person or number with training.",
    )
    candidates = forms.IntegerField(
        widget=INTEGER_INPUT,
        label="Max candidate tools",
        min_value=5,
        max_value=30,
        initial=8,
        help_text="Tools offered in a conversation, 5 to 30. A small policy with a short context needs few.",
    )
    seed = forms.IntegerField(
        widget=INTEGER_INPUT,
        min_value=0,
        max_value=19,
        initial=0,
        help_text="0 to 19. The same seed gives the same conversations, another seed other worlds.",
    )

    def __init__(self, project: Project, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        on = list_enabled_servers(project)
        self.off = [name for name in SERVERS if name not in on]
        self.fields["servers"].choices = [(name, name) for name in on]
        self.fields["recipe"].choices = [
            ("", "Custom, as below"),
            *((one.name, format_recipe_label(one)) for one in PLANS.values()),
        ]
        if self.off:
            self.fields["recipe"].help_text += f" {self.explain_disabled_servers(self.off)}"
        for name in NUMBERS:
            field = self.fields[name]
            message = f"Enter a whole number from {field.min_value:,} to {field.max_value:,}."
            field.error_messages = {"required": message, "invalid": message}
            for limit in field.validators:
                limit.message = message

    def clean(self) -> dict[str, Any]:
        """Ignore the fields that a recipe or a chain sets."""
        if self.cleaned_data.get("chain"):
            self.errors.pop("servers", None)
            self.cleaned_data["recipe"] = ""
        if self.cleaned_data.get("tools"):
            self.cleaned_data["recipe"] = ""
            self.require_servers(self.cleaned_data["tools"])
        if self.cleaned_data.get("recipe"):
            for name in (*NUMBERS, "servers"):
                self.errors.pop(name, None)
        return self.cleaned_data

    @staticmethod
    def explain_disabled_servers(off: list[str]) -> str:
        return (
            f"Recipes use all servers, and {', '.join(off)} {'are' if len(off) > 1 else 'is'} switched off in this "
            "project. Switch on all servers under Environments, or select servers below."
        )

    def clean_recipe(self) -> str:
        """Reject recipes if servers are off: a recipe has exact counts over all servers."""
        recipe = str(self.cleaned_data["recipe"])
        if recipe and self.off and not self.data.get("chain"):
            raise forms.ValidationError(self.explain_disabled_servers(self.off))
        return recipe

    def clean_chain(self) -> tuple[str, ...]:
        """Validate a chain of tools in order; the worker rejects tools that no edge connects."""
        tools = tools_of(self.cleaned_data["chain"])
        if tools and (not 2 <= len(tools) <= LONGEST_CHAIN or any(name not in TOOLS for name in tools)):
            raise forms.ValidationError(f"A chain has 2 to {LONGEST_CHAIN} known tools. Select one in the graph.")
        if off := sorted({TOOLS[name][0].name for name in tools} & set(self.off)):
            raise forms.ValidationError(f"Switched off in this project: {', '.join(off)}. See Environments.")
        return tools

    def clean_tools(self) -> tuple[str, ...]:
        """Validate the tools, one of which each conversation is about in turn."""
        tools = tools_of(self.cleaned_data["tools"])
        if unknown := [name for name in tools if name not in TOOLS]:
            raise forms.ValidationError(f"Unknown tool {unknown[0]}. Select the tools again.")
        return tools

    def require_servers(self, tools: tuple[str, ...]) -> None:
        ticked = self.cleaned_data.get("servers", [])
        if "servers" not in self.errors and (others := [one for one in tools if TOOLS[one][0].name not in ticked]):
            self.add_error("servers", f"{others[0]} is a tool of {TOOLS[others[0]][0].name}: select that server too.")

    @property
    def more_of(self) -> tuple[str, ...]:
        """The tools of which more conversations are requested, or none."""
        return tools_of(str(self["tools"].value() or ""))

    @property
    def about(self) -> tuple[str, ...]:
        """The chain that all conversations are about, or none."""
        return tools_of(str(self["chain"].value() or ""))

    def spec(self) -> dict[str, Any]:
        """Return the specification of the job."""
        if recipe := self.cleaned_data["recipe"]:
            return {"recipe": recipe}
        if chain := self.cleaned_data["chain"]:
            own = {TOOLS[name][0].name for name in chain}
            about = {"chain": list(chain), "servers": [name for name in SERVERS if name in own]}
            return {key: self.cleaned_data[key] for key in NUMBERS} | about
        servers = [name for name in SERVERS if name in self.cleaned_data["servers"]]
        more = {"tools": list(self.cleaned_data["tools"])} if self.cleaned_data["tools"] else {}
        return {key: self.cleaned_data[key] for key in NUMBERS} | {"servers": servers} | more

    @transaction.atomic
    def launch(self, project: Project, user: User) -> Dataset:
        """Create the dataset with the project's next number, and enqueue the job that fills it."""
        dataset = begin(project, user, self.cleaned_data["name"], self.spec())
        enqueue(dataset.job)
        return dataset
