"""Where the endpoint is and how it may be used: from the environment, each variable with a default or a remedy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated

import httpx2
from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

PREFIX = "PROVE_LLM_"
GUIDE = "docs/language-models.md tells of all settings"


class EndpointFailed(Exception):
    """The endpoint cannot be used, or no longer; says what happened, where, and what to do. No example is to blame."""


class TooLong(EndpointFailed):
    """A conversation that is longer than the model behind the endpoint reads, in the endpoint's own words."""


def well_formed(url: str) -> str:
    try:
        return str(httpx2.URL(url)) and url
    except httpx2.InvalidURL as error:
        raise ValueError(str(error)) from None


@dataclass(frozen=True, kw_only=True)
class Settings:
    """An endpoint and its limits. The variable of a field is its name in capitals after PROVE_LLM_.

    A request is sent once and again `retries` times when it meets HTTP 408, 409, 429 or 5xx, silence, or no connection.
    """

    url: Annotated[
        str, Field(pattern=r"^https?://\S+$", description="address up to and with /v1"), AfterValidator(well_formed)
    ]
    model: Annotated[str, Field(min_length=1, description="name of the model there")]
    key: Annotated[str, Field(pattern=r"^[!-~]+$", description="API key, in plain ASCII")] = field(
        default="none", repr=False
    )
    per_minute: Annotated[int, Field(ge=0, description="most requests a minute; 0 for no limit")] = 0
    tokens: Annotated[int, Field(ge=0, description="most tokens that one command may pay for; 0 for no limit")] = 0
    answer: Annotated[int, Field(ge=16, description="most tokens of one answer")] = 2_000
    timeout: Annotated[float, Field(gt=0, le=3600, description="seconds to wait for an answer")] = 120.0
    retries: Annotated[int, Field(ge=0, le=20, description="how often a request that failed is sent again")] = 4
    parallel: Annotated[int, Field(ge=1, le=256, description="requests under way at once")] = 4
    cache: Annotated[Path, Field(description="folder that keeps all answers")] = Path("data/answers")


def from_environment(environment: Mapping[str, str], cache: Path | None = None) -> Settings:
    """The settings that variables give, the answers in `cache` unless they name a folder. Raises EndpointFailed."""
    given: dict[str, object] = {
        one.name: value for one in fields(Settings) if (value := environment.get(variable(one.name)))
    }
    if not {"url", "model"} <= given.keys():
        raise EndpointFailed(
            f"There is no endpoint: set {variable('url')} to its address and {variable('model')} to its model; {GUIDE}."
        )
    if cache:
        given.setdefault("cache", cache)
    try:
        return TypeAdapter(Settings).validate_python(given)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        raise EndpointFailed(f"{variable(name)} does not fit: it is the {described(name)}; {GUIDE}.") from None


def variable(name: str) -> str:
    return PREFIX + name.upper()


def described(name: str) -> str:
    """What a setting is, in words."""
    return str(TypeAdapter(Settings).json_schema()["properties"][name]["description"])
