"""Evaluation form: policy, benchmark with its options, and item selection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings

from prove_web.accounts.models import Project
from prove_web.experiments.forms import usable
from prove_web.experiments.initial_policy import PolicyField
from training_worker.evaluation.allowlist import ENDPOINTS, URL, leads_out
from training_worker.evaluation.registry import KNOWN, BenchmarkSpec, Option

from .models import Evaluation
from .policies import ENDPOINT, SOURCE, choices, endpoint_choices, of_run, origin, resolve_model_name, trained_on

OPTION = "option_"
ALL = "all"
STYLES = (("tools", "Native tool calls"), ("prompt", "Tools in the prompt"))
INTEGER_INPUT = forms.NumberInput(attrs={"step": 1, "inputmode": "numeric"})


def get_missing_requirement(one: BenchmarkSpec) -> str:
    """Return what a benchmark lacks here and how to install it; "" if it is ready."""
    return one.describe_missing_requirement(Path(settings.PROVE_DATA) / "benchmarks")


class EvaluationForm(forms.Form):
    """The form for one benchmark, with fields for its categories and options."""

    benchmark = forms.ChoiceField(choices=[(one.name, one.title) for one in KNOWN.values()], widget=forms.RadioSelect)
    policy = PolicyField(help_text="A model of the configured folders, a checkpoint of a run, or an endpoint.")
    endpoint = forms.ChoiceField(
        required=False, help_text=f"The site's default, and those that the operator lists in {ENDPOINTS}."
    )
    model = forms.CharField(
        max_length=200, required=False, help_text="Name at the endpoint. Empty: the site's default (PROVE_LLM_MODEL)."
    )
    name = forms.CharField(max_length=80, required=False, help_text="Empty: generated from model and benchmark.")
    limit = forms.IntegerField(
        label="Items per category",
        min_value=1,
        max_value=100_000,
        required=False,
        widget=INTEGER_INPUT,
        help_text="Runs only the first N items of each category. Empty: all.",
    )
    trials = forms.IntegerField(
        min_value=1,
        max_value=100,
        initial=1,
        widget=INTEGER_INPUT,
        help_text="Attempts per item. More than one adds pass^k to the report.",
    )
    temperature = forms.FloatField(
        min_value=0,
        max_value=2,
        required=False,
        widget=forms.NumberInput(attrs={"step": "any", "inputmode": "decimal"}),
    )
    style = forms.ChoiceField(label="Tool format", choices=STYLES, help_text="Prompt: for models without tool calling.")
    categories = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, help_text="None: all categories, with an overall score."
    )

    def __init__(self, project: Project, benchmark: str, data: Any = None, **rest: Any):
        super().__init__(data, **rest)
        self.project, self.known = project, KNOWN[benchmark]
        self.initial["benchmark"] = benchmark
        wanted = str((data or self.initial).get("policy", ""))
        self.fields["policy"].choices = choices(project, wanted)
        self.fields["endpoint"].choices = endpoint_choices()
        self.fields["categories"].choices = [(name, name.replace("_", " ")) for name in self.known.categories]
        own = f"{self.known.temperature:g}"
        self.fields["temperature"].help_text = f"0 to 2. Empty: the benchmark's default, {own}."
        self.fields["temperature"].widget.attrs["placeholder"] = own
        for option in self.known.options:
            self.fields[OPTION + option.name] = option_field(option, project)
        if servers := self.fields.get(OPTION + "servers"):
            servers.widget.attrs["placeholder"] = trained_on(project, wanted) or ALL

    @property
    def options(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name.startswith(OPTION)]

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if given.get("benchmark") == self.known.name and (reason := get_missing_requirement(self.known)):
            self.add_error("benchmark", reason)
        if given.get("policy") == ENDPOINT:
            self.check_endpoint(given)
        for field in self.options:
            value = given.get(field.name, "")
            if URL.match(value) and value.strip() not in dict(endpoint_choices()):
                self.add_error(field.name, f"{value.strip()} is not allowed: {ENDPOINTS} does not list it.")
            elif not URL.match(value) and leads_out(value):
                self.add_error(field.name, "Enter a folder inside the benchmarks folder.")
        return given

    def check_endpoint(self, given: dict[str, Any]) -> None:
        if not endpoint_choices():
            self.add_error("policy", f"No endpoint is configured: the operator sets PROVE_LLM_URL or {ENDPOINTS}.")
        elif "endpoint" in given and not given["endpoint"]:
            self.add_error("endpoint", "Choose an endpoint.")
        if "model" in given and not resolve_model_name(ENDPOINT, given["model"], origin(self.project, "")):
            self.add_error("model", "Enter a model of the endpoint; the site has no default.")

    @property
    def spec(self) -> dict[str, Any]:
        """Return the job specification for the worker."""
        given, policy = self.cleaned_data, self.cleaned_data["policy"]
        model = resolve_model_name(policy, given["model"], origin(self.project, policy))
        found: dict[str, Any] = {"project": self.project.pk, "benchmark": self.known.name, "style": given["style"]}
        if policy.startswith(SOURCE):
            found["source"] = policy.removeprefix(SOURCE)
            found |= {"url": given["endpoint"], "model": model} if policy == ENDPOINT else {}
        else:
            found |= {"source": "folder", "policy": policy, "model": model}
        usual = {option.name: option.default for option in self.known.options}
        options = {name: given[OPTION + name].strip() for name in usual}
        if "servers" in usual:
            options["servers"] = resolve_servers(options["servers"], self.project, policy)
        options = {name: value for name, value in options.items() if value not in ("", usual[name])}
        rest = {name: given[name] for name in ("categories", "limit", "temperature")} | {"options": options}
        found |= {name: value for name, value in rest.items() if value not in (None, [], {})}
        return found | ({"trials": given["trials"]} if given["trials"] > 1 else {})

    @property
    def title(self) -> str:
        """Return the name as typed, or one generated from the model and benchmark."""
        whose = origin(self.project, self.cleaned_data["policy"])
        return self.cleaned_data["name"] or title_of(str(whose) or self.spec.get("model", ""), self.known, self.spec)


def resolve_servers(typed: str, project: Project, policy: str) -> str:
    """Return the `servers` option: as typed, "" for "all", or by default the policy's training servers."""
    return "" if typed.lower() == ALL else typed or trained_on(project, policy)


def option_field(option: Option, project: Project) -> forms.Field:
    label, about = option.name.replace("_", " ").capitalize(), option.about[:1].upper() + option.about[1:] + "."
    if option.kind == "dataset":
        made = [(str(one.job_id), f"{one.name} (#{one.number})") for one in usable(project).order_by("-number")]
        return forms.ChoiceField(label="Dataset", choices=[("", "None"), *made], required=False, help_text=about)
    return forms.CharField(label=label, help_text=about, initial=option.default, required=False, max_length=500)


def title_of(what: str, known: BenchmarkSpec, spec: dict[str, Any]) -> str:
    """Return a title such as `Run 3, best checkpoint, on BFCL multi-turn`, truncated to 80 characters."""
    what = what or {"oracle": "Ground truth", "silent": "Silent baseline"}.get(spec["source"], "Model")
    text = f"{what} on {known.title}"
    return text if len(text) <= 80 else text[:79] + "…"


def build_clone_values(evaluation: Evaluation) -> dict[str, Any]:
    """Return the initial form values for a copy of this evaluation."""
    spec = evaluation.job.spec
    folder = spec.get("source") == "folder"
    found = {name: spec[name] for name in ("style", "categories", "limit", "trials", "temperature") if name in spec}
    left = of_run(evaluation.project, str(evaluation.run.number), evaluation.checkpoint) if evaluation.run else ""
    found |= {"policy": left or spec.get("policy", "") if folder else f"{SOURCE}{spec.get('source')}"}
    found |= {} if folder else {"endpoint": spec.get("url", ""), "model": spec.get("model", "")}
    everywhere = {OPTION + "servers": ALL}  # explicit in a copy, because an empty field means the policy's servers
    return everywhere | found | {OPTION + name: value for name, value in spec.get("options", {}).items()}
