"""A run's configuration for its page: changed settings, all settings, and text exports."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .defaults import START
from .form_fields import format_config_value
from .forms import RunForm, belongs, format_setting, map_config_to_fields
from .models import Run, RunKind
from .outside import limits as outside
from .reward_config import describe_reward

OF_OTHERS = ("reward_", "benchmark_")  # covered by the name of the reward and by the evaluations


@dataclass(frozen=True)
class Setting:
    """A setting; `usual` is its default, and `changed` says whether this run has another value."""

    name: str
    label: str
    value: str
    usual: str
    changed: bool


def settings(run: Run, reward: str = "") -> list[Setting]:
    """Return every setting that a run of its kind has; `reward` is the name of its reward on the page."""
    if run.kind == RunKind.OUTSIDE:
        return [
            Setting(name, name, as_text(value), "", False)
            for name, value in outside.settings(get_logged_config(run)).items()
        ]
    given = map_config_to_fields(run.config)
    found = [
        setting(name, given.get(name, START[name]))
        for name in START
        if belongs(name, run.kind) and not name.startswith(OF_OTHERS)
    ]
    label = str(RunForm.base_fields["reward_preset"].label)
    named = reward or describe_reward(run.config.get("reward"))
    preset = Setting("reward_preset", label, named or "the paper's", "the paper's", bool(named))
    return [*found, preset] if run.kind == "grpo" else found


def departure(run: Run) -> str:
    """Return how the update of a run departs from plain GRPO, or an empty text where it does not."""
    if run.kind != "grpo" or map_config_to_fields(run.config).get("credit", START["credit"]) == "rollout":
        return ""
    return (
        "Not plain GRPO: only tokens where a group's rollouts diverge are trained, each with its own advantage "
        "(credit=branch). credit=rollout is plain GRPO."
    )


def setting(name: str, value: Any) -> Setting:
    usual = START[name]
    label = str(RunForm.base_fields[name].label) if name in RunForm.base_fields else ""
    label = label or name.replace("_", " ").capitalize()
    return Setting(name, label, format_setting(name, value), format_setting(name, usual), value != usual)


def get_launch_config(run: Run) -> dict[str, Any]:
    """Return the launch configuration without run-specific names, so that equivalent runs give the same result."""
    if run.kind == RunKind.OUTSIDE:
        return {"name": run.name, "kind": run.kind, **get_logged_config(run)}
    config = {name: value for name, value in run.config.items() if name != "dataset"}
    return {"name": run.name, "kind": run.kind, "dataset": run.dataset.number, **config}


def list_config_exports(run: Run) -> list[tuple[str, str, str]]:
    """Return the configuration as text in each export format, as (name, title, text)."""
    found = [("json", "JSON", as_json(run)), ("toml", "TOML", as_toml(run))]
    return found if run.kind == RunKind.OUTSIDE else [*found, ("command", "a command", as_command(run))]


def get_logged_config(run: Run) -> dict[str, Any]:
    """Return the configuration that an external run's own program logged."""
    found: dict[str, Any] = run.config.get("given", {})
    return found


def as_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else format_config_value(value)


def as_json(run: Run) -> str:
    return json.dumps(get_launch_config(run), indent=2, ensure_ascii=False)


def as_toml(run: Run) -> str:
    return "\n".join(iter_toml_lines(get_launch_config(run)))


def as_command(run: Run) -> str:
    """Return the `manage.py` command that launches another run like this one, by form field names."""
    given = {
        name: format_config_value(value)
        for name, value in map_config_to_fields(run.config).items()
        if name in RunForm.base_fields
    }
    values = {"name": run.name, "kind": run.kind, **given}
    words = ["python", "manage.py", "launch_run", "/".join(run.project.path), "--as", "YOU"]
    words += ["--dataset", str(run.dataset.number), "--set", *(f"{name}={value}" for name, value in values.items())]
    return shlex.join(words)


def iter_toml_lines(table: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the lines of a TOML table: its own values, then its subtables.

    Nulls are omitted because TOML has no null.
    """
    inner = {name: value for name, value in table.items() if isinstance(value, Mapping)}
    for name, value in table.items():
        if name not in inner and value is not None:
            yield f"{key(name)} = {format_toml_value(value)}"
    for name, value in inner.items():
        where = f"{path}.{key(name)}" if path else key(name)
        yield f"\n[{where}]"
        yield from iter_toml_lines(value, where)


def key(name: str) -> str:
    bare = name.replace("_", "").replace("-", "")
    return name if bare.isalnum() and bare.isascii() else format_toml_value(name)


def format_toml_value(value: Any) -> str:
    """Return a value in TOML syntax: JSON except for the escape of U+007F."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
