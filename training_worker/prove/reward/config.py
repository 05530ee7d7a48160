"""What a run scores by: one of four forms, its weights, and optional terms; checked where it comes in."""

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
    """A reward that cannot be scored by; the message names the field and what it may be."""


@dataclass(frozen=True, kw_only=True)
class RewardConfig:
    """A form and its weights; the weights that another form has are of no effect.

    `paper`: validity, coverage, efficiency, name and arguments are what each component counts; alpha is the price of
    excess calls, beta the slack of the budget. `trace_state`: tau is what the trace counts, beside 1 - tau for the
    state; with `tau_end` it goes there from tau, linearly over the run. On top of every form: what a final-state match
    earns, what invented argument values and repeated calls cost. Raises BadReward.
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
        """Whether the paper's five components are all there is to it: no optional term, and no world to compare."""
        return self.form == "paper" and not (self.final_state or self.provenance or self.repeats)

    @property
    def needs_world(self) -> bool:
        """Whether final states are compared, in the world of the example."""
        return self.form in ("trace_state", "final_state") or self.final_state > 0

    @property
    def largest(self) -> float:
        """The largest total where calls are due; where none is, it is 1."""
        paper = self.validity + self.coverage + self.name + self.arguments
        return (paper if self.form == "paper" else 1.0) + self.final_state

    def at(self, progress: float) -> RewardConfig:
        """What to score by after this share of the run, 0 to 1: tau is where its way from tau to `tau_end` has led."""
        if self.tau_end is None:
            return self
        return replace(self, tau=self.tau + (self.tau_end - self.tau) * min(max(progress, 0.0), 1.0), tau_end=None)


def read_reward(given: str | bytes | Mapping[str, Any]) -> RewardConfig:
    """The configuration that JSON, or a mapping read from it, holds; what is left out has its default.

    Raises BadReward, which says what is wrong with which field.
    """
    try:
        text = given if isinstance(given, str | bytes) else json.dumps(dict(given))
        return TypeAdapter(RewardConfig).validate_json(text)
    except (TypeError, RecursionError):
        raise BadReward("The reward must be a JSON object of names and numbers.") from None
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        raise BadReward("The reward does not fit: " + "; ".join(map(fault, faults)) + ".") from None


def fault(error: Any) -> str:
    """One fault in words."""
    place = ".".join(map(str, error["loc"]))
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    if error["type"] == "unexpected_keyword_argument":
        return f"there is no {place}, only {', '.join(field.name for field in fields(RewardConfig))}"
    message = str(error["msg"])
    return f"{place}: {message[:1].lower()}{message[1:]}" if place else message[:1].lower() + message[1:]
