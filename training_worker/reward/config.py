"""Reward configuration: one of four forms, its weights and optional terms, validated on input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import isfinite
from typing import Any, ClassVar, Literal, get_args

from pydantic import ConfigDict, TypeAdapter, ValidationError

Form = Literal["paper", "graduated", "trace_state", "final_state"]
FORMS: tuple[Form, ...] = get_args(Form)
SHARES = ("tau", "tau_end")


class BadReward(ValueError):
    """An invalid reward configuration; the message names the field and its allowed values."""


@dataclass(frozen=True, kw_only=True)
class RewardConfig:
    """A reward form and its weights; weights of other forms have no effect.

    `paper`: validity, coverage, efficiency, name and arguments are the component weights; alpha is the penalty for
    excess calls, beta the slack of the call budget. `trace_state`: tau is the weight of the trace, 1 - tau that of the
    state; with `tau_end`, tau changes linearly to it over the run. For every form: `final_state` is the bonus for a
    final-state match, `provenance` and `repeats` the penalties for invented argument values and for repeated calls.
    Raises BadReward.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    form: Form = "paper"
    validity: float = 0.5
    coverage: float = 0.5
    efficiency: float = 0.15
    name: float = 0.2
    arguments: float = 0.1
    alpha: float = 0.5
    beta: float = 0.5
    tau: float = 0.5
    tau_end: float | None = None
    final_state: float = 0.0
    provenance: float = 0.0
    repeats: float = 0.0

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise BadReward(f"form must be one of {', '.join(FORMS)}, not {self.form!r}")
        for field in fields(self)[1:]:
            value = getattr(self, field.name)
            if value is not None and not (isfinite(value) and value >= 0):
                raise BadReward(f"{field.name} must be a finite number of at least 0, not {value}")
            if field.name in SHARES and value is not None and value > 1:
                raise BadReward(f"{field.name} must be at most 1, not {value}")

    @property
    def plain(self) -> bool:
        """Return whether it has only the paper's five components: no optional terms and no world to compare."""
        return self.form == "paper" and not (self.final_state or self.provenance or self.repeats)

    @property
    def needs_world(self) -> bool:
        """Return whether final states are compared, which needs the world of the example."""
        return self.form in ("trace_state", "final_state") or self.final_state > 0

    @property
    def largest(self) -> float:
        """Return the maximum total if calls are required; if none is, it is 1."""
        paper = self.validity + self.coverage + self.name + self.arguments
        return (paper if self.form == "paper" else 1.0) + self.final_state

    def interpolate_tau(self, progress: float) -> RewardConfig:
        """Return the configuration after this share of the run, 0 to 1, with tau interpolated towards `tau_end`."""
        if self.tau_end is None:
            return self
        return replace(self, tau=self.tau + (self.tau_end - self.tau) * min(max(progress, 0.0), 1.0), tau_end=None)


def read_reward(given: str | bytes | Mapping[str, Any]) -> RewardConfig:
    """Read the configuration from JSON or from a mapping; missing fields have their defaults.

    Raises BadReward, which names the invalid fields.
    """
    try:
        text = given if isinstance(given, str | bytes) else json.dumps(dict(given))
        return TypeAdapter(RewardConfig).validate_json(text)
    except (TypeError, RecursionError):
        raise BadReward("The reward must be a JSON object of names and numbers.") from None
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        raise BadReward("The reward is invalid: " + "; ".join(map(fault, faults)) + ".") from None


def fault(error: Any) -> str:
    """Return a validation error as text."""
    place = ".".join(map(str, error["loc"]))
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    if error["type"] == "unexpected_keyword_argument":
        return f"there is no {place}, only {', '.join(field.name for field in fields(RewardConfig))}"
    message = str(error["msg"])
    return f"{place}: {message[:1].lower()}{message[1:]}" if place else message[:1].lower() + message[1:]
