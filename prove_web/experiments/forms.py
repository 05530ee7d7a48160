"""The launch form of a run: settings with defaults and limits, and the job specification for the worker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import TextField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from prove_web.accounts.models import Project
from prove_web.live.models import State
from prove_web.trajectories.models import Dataset

from . import evaluate_fields, grpo_fields, machine_fields, reward_fields, saved_rewards
from .defaults import CORES, DEFAULTS, LIMITS, OF_BOTH, OF_SUPERVISED, SUPERVISED, SWITCHES
from .evaluate_fields import EvaluateFields
from .form_fields import format_config_value, number
from .form_layout import SECTIONS, Section
from .grpo_fields import GRPOFields
from .initial_policy import Choices, PolicyField, policy_choices
from .machine_fields import MachineFields
from .models import Run, RunKind, SavedReward
from .recipes import TITLES
from .reward_config import short
from .reward_fields import RewardFields

__all__ = ["CORES", "DEFAULTS", "RunForm", "copy_form_values", "usable"]

LAUNCHED = [(kind.value, kind.label) for kind in (RunKind.GRPO, RunKind.SFT)]
WEIGHTS = {*reward_fields.NAMES}  # set only by a custom reward


@dataclass(frozen=True)
class Offer:
    """The choices of a project, read once for all forms of a sweep."""

    project: Project
    policies: Choices
    rewards: list[SavedReward]

    @classmethod
    def load_for_project(cls, project: Project) -> Offer:
        return cls(project, policy_choices(project), [*project.rewards.all()])


@dataclass(frozen=True)
class SettingSummary:
    """One setting in a collapsed section's summary.

    `other` says that it is not the default; `only` is the only kind of run that has it, or "".
    """

    label: str
    value: str
    other: bool
    only: str


@dataclass(frozen=True)
class FormSection:
    """A section ready for display: its fields, each with the only kind of run that has it or "", and its summary."""

    section: Section
    fields: list[tuple[forms.BoundField, str]]
    open: bool
    summary: list[SettingSummary]


class RunForm(RewardFields, GRPOFields, MachineFields, EvaluateFields):
    name = forms.CharField(max_length=80, help_text="Shown in the runs table. Say what differs from other runs.")
    kind = forms.ChoiceField(
        choices=LAUNCHED,
        initial=RunKind.GRPO,
        help_text="GRPO learns from the rewards of its own rollouts; supervised training imitates demonstrations.",
    )
    recipe = forms.ChoiceField(
        label="Preset",
        choices=[("", "Current values"), *TITLES.items()],
        required=False,
        help_text="Fills in the fields.",
    )
    dataset = forms.ModelChoiceField(
        Dataset.objects.none(),
        label="Dataset",
        empty_label=None,
        help_text="Training conversations are the prompts, held-out ones the evaluation. Lists finished datasets only.",
    )
    policy = PolicyField(
        label="Initial policy",
        initial="warm",
        help_text="The shipped warm-start policy, a model in the configured folders, or one trained in this project.",
    )
    base = forms.ModelChoiceField(
        Run.objects.none(),
        label="Baseline",
        empty_label="None",
        initial="",
        required=False,
        help_text="The run to compare with, saved with this run. Changed settings are listed below.",
    )
    minutes = number("Time limit (min)", "minutes", 0.1, 100_000, "Training time without evaluations.")
    max_steps = number(
        "Max steps", "max_steps", 1, 100_000, "The run ends after these steps or at the time limit. 100 to 1000."
    )
    epochs = number("Epochs", "epochs", 1, 100, "Passes over the training conversations. The paper's baseline: 3.")
    learning_rate = number(
        "Learning rate",
        "learning_rate",
        1e-8,
        0.1,
        "2e-4 for the tiny policy; 5e-8 to 1e-5 for large ones, higher with LoRA.",
    )
    batch = number("Batch size", "batch", 1, 256, "Conversations per step. 8 for the tiny policy, 16 for large ones.")
    longest = number("Max length", "longest", 64, 262_144, "In tokens; longer conversations are skipped.")
    decay = number(
        "LR decay fraction", "decay", 0, 1, "Last fraction of the run over which the learning rate decays. 0 to 0.3."
    )
    warmup_steps = number("Warm-up steps", "warmup_steps", 0, 10_000, "Steps of rising learning rate. 0 to 10.")
    evaluate_every = number(
        "Evaluate every",
        "evaluate_every",
        0,
        100_000,
        "Steps between held-out evaluations. 10 to 50; 0 turns them off.",
    )
    held_out = number(
        "Held-out conversations", "held_out", 0, 10_000, "Evaluated before and after. 200 detect a change of 0.03."
    )
    patience = number(
        "Patience", "patience", 0, 1000, "Evaluations without improvement before early stopping. 3 to 10; 0: off."
    )
    seed = number("Seed", "seed", 0, 19, "Same seed, same data order. Compare settings over three seeds.")

    def __init__(self, project: Project, data: Any = None, *, offer: Offer | None = None, **rest: Any):
        super().__init__(None if data is None else complete(data), **rest)
        self.project = project
        self.fields["dataset"].queryset = usable(project)
        self.offer = offer or Offer.load_for_project(project)
        self.fields["policy"].choices = self.offer.policies
        self.fields["base"].queryset = Run.objects.filter(project=project).order_by("-number")
        self.fields["base"].label_from_instance = "Run {0.number}, {0.name}".format
        named = self.fields["reward_preset"].choices
        self.fields["reward_preset"].choices = [*named[:-1], *saved_rewards.choices(self.offer.rewards), named[-1]]

    def _post_clean(self) -> None:
        """Drop the errors of fields that this kind of run does not have."""
        for name in [name for name in self.errors if not belongs(name, self.cleaned_data.get("kind", ""))]:
            del self._errors[name]

    def clean(self) -> dict[str, Any]:
        kind = self.cleaned_data.get("kind", "")
        given = {name: value for name, value in self.cleaned_data.items() if belongs(name, kind)}
        found = {**grpo_fields.faults(given), **machine_fields.faults(given), **reward_fields.faults(given)}
        found |= evaluate_fields.faults(given)
        if given.get("patience") and not (given.get("evaluate_every") and given.get("held_out")):
            found["patience"] = (
                "Patience requires held-out evaluations: set “Evaluate every” and “Held-out conversations” above 0."
            )
        if kind == RunKind.GRPO and (dataset := given.get("dataset")) and cannot_be_run(dataset):
            found["dataset"] = (
                "This dataset has imported conversations whose calls cannot be run here, which GRPO requires. "
                "Use supervised training or choose another dataset."
            )
        for name, why in found.items():
            self.add_error(name, why)
        return self.cleaned_data

    @property
    def sections(self) -> list[FormSection]:
        return [self.build_section(section) for section in SECTIONS]

    def build_section(self, section: Section) -> FormSection:
        """Return the section for display; a collapsed section opens if a field in it has an error."""
        wrong = any(name in self.errors for name in section.names)
        fields = [(self[name], get_only_kind(name)) for name in section.names]
        return FormSection(section, fields, wrong or not section.folded, [*self.summarize(section)])

    def summarize(self, section: Section) -> Iterator[SettingSummary]:
        """Yield the section's summary: its most important settings, and those that differ from the default."""
        own = str(self["reward_preset"].value()) == reward_fields.OWN
        for name in section.names:
            value, other = str(self[name].value()), str(self[name].value()) not in list_default_texts(name)
            counts = name in section.brief or (other and (own or name not in WEIGHTS))
            if section.folded and counts:
                label = "" if name == "reward_preset" else str(self[name].label)
                words = saved_rewards.names(self.offer.rewards).get(value) or format_setting(name, value)
                yield SettingSummary(label, words, other, get_only_kind(name))

    @property
    def spec(self) -> dict[str, Any]:
        """Return the job specification for the worker: required settings, and those that differ from the default."""
        given = self.cleaned_data
        kind = given["kind"]
        always = {**DEFAULTS, **SUPERVISED}
        spec = {"dataset": str(given["dataset"].job_id), "policy": given["policy"]}
        spec |= {name: given[name] for name in always if belongs(name, kind)}
        spec |= {n: given[n] for n, usual in SWITCHES.items() if belongs(n, kind) and given[n] != usual}
        if kind == RunKind.GRPO:
            limits = {name: given[f"limit_{name}"] for name in LIMITS}
            saved = saved_rewards.configurations(self.offer.rewards)
            reward = reward_fields.select_changed_settings(reward_fields.reward_of(given, saved))
            spec |= {"limits": limits} if limits != LIMITS else {}
            spec |= {"reward": reward} if reward else {}
        return spec


def belongs(name: str, kind: str) -> bool:
    """Return whether a kind of run has this setting."""
    return name in OF_BOTH or (name in OF_SUPERVISED) == (kind == "sft")


def get_only_kind(name: str) -> str:
    """Return the only kind of run that has a setting, or ""."""
    if name in OF_BOTH:
        return ""
    return "sft" if name in OF_SUPERVISED else "grpo"


def list_default_texts(name: str) -> tuple[str, ...]:
    """Return the text forms of a field's default."""
    field = RunForm.base_fields[name]
    return (str(field.initial), "") if field.initial in (None, "") else (str(field.initial),)


def complete(data: Any) -> Any:
    """Return the submitted data completed with the default of every missing setting."""
    data = data.copy()
    for name, field in RunForm.base_fields.items():
        if name not in ("name", "dataset", "base"):
            data.setdefault(name, field.initial if field.initial is not None else "")
    return data


def cannot_be_run(dataset: Dataset) -> bool:
    """Return whether the dataset holds imported conversations with calls (see Example.certified)."""
    source = Cast(KeyTextTransform("source", "record"), TextField())
    return dataset.trajectories.filter(steps__gt=0).annotate(source=source).filter(source__gt="").exists()


def usable(project: Project) -> Any:
    """Return the project's datasets that a run can train on."""
    return Dataset.objects.filter(project=project, holds=Dataset.ContentKind.DEMONSTRATIONS, job__state=State.DONE)


def list_copyable_runs(project: Project) -> Any:
    """Return the runs whose settings can be copied."""
    return Run.objects.filter(project=project).exclude(kind=RunKind.OUTSIDE)


def map_config_to_fields(config: dict[str, Any]) -> dict[str, Any]:
    """Return a run's configuration by form field names."""
    found = {name: value for name, value in config.items() if name not in ("limits", "reward", "dataset")}
    found |= {f"limit_{name}": value for name, value in config.get("limits", {}).items()}
    return found | (reward_fields.as_fields(config["reward"]) if config.get("reward") else {})


def copy_form_values(run: Run) -> dict[str, Any]:
    """Return the initial form values for a copy of this run."""
    known = {
        name: format_config_value(value)
        for name, value in map_config_to_fields(run.config).items()
        if name in RunForm.base_fields
    }
    known |= evaluate_fields.load_benchmark_settings(run)
    return {"name": f"{run.name[:73]} (copy)", "dataset": run.dataset_id, "kind": run.kind, "base": run.pk, **known}


def of_reward(name: str) -> bool:
    return name.startswith("reward_")


def format_setting(name: str, value: Any) -> str:
    """Return a setting's value as the form shows it: the title of a choice, the name of a reward."""
    text = format_config_value(value)
    if name == "reward_preset":
        return short(text)
    field = RunForm.base_fields.get(name)
    titles = {str(key): str(title) for key, title in field.choices} if type(field) is forms.ChoiceField else {}
    return titles.get(text, text)
