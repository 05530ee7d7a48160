"""Settings of an endpoint from environment variables, each with a default or a helpful error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated

import httpx2
from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

PREFIX = "PROVE_LLM_"
GUIDE = "docs/language-models.md lists all settings"


class EndpointFailed(Exception):
    """An endpoint that cannot be used; the message says what happened, where, and what to do. No example caused it."""


class TooLong(EndpointFailed):
    """A conversation longer than the context of the endpoint's model; the message quotes the endpoint."""


def well_formed(url: str) -> str:
    try:
        return str(httpx2.URL(url)) and url
    except httpx2.InvalidURL as error:
        raise ValueError(str(error)) from None


@dataclass(frozen=True, kw_only=True)
class Settings:
    """An endpoint and its limits. The variable of a field is its name in capitals after PROVE_LLM_.

    A request is retried up to `retries` times after HTTP 408, 409, 429 or 5xx, a timeout, or a failed connection.
    """

    url: Annotated[
        str,
        Field(pattern=r"^https?://\S+$", description="address up to and including /v1"),
        AfterValidator(well_formed),
    ]
    model: Annotated[str, Field(min_length=1, description="name of the model")]
    key: Annotated[str, Field(pattern=r"^[!-~]+$", description="API key, in plain ASCII")] = field(
        default="none", repr=False
    )
    per_minute: Annotated[int, Field(ge=0, description="maximum number of requests per minute; 0 for no limit")] = 0
    tokens: Annotated[int, Field(ge=0, description="maximum number of tokens per command; 0 for no limit")] = 0
    answer: Annotated[int, Field(ge=16, description="maximum number of tokens per answer")] = 2_000
    timeout: Annotated[float, Field(gt=0, le=3600, description="seconds to wait for an answer")] = 120.0
    retries: Annotated[int, Field(ge=0, le=20, description="number of retries of a failed request")] = 4
    parallel: Annotated[int, Field(ge=1, le=256, description="number of parallel requests")] = 4
    cache: Annotated[Path, Field(description="folder of the answer cache")] = Path("data/answers")


def from_environment(environment: Mapping[str, str], cache: Path | None = None) -> Settings:
    """Return the settings in variables; `cache` is the default folder of the answers. Raises EndpointFailed."""
    given: dict[str, object] = {
        one.name: value for one in fields(Settings) if (value := environment.get(variable(one.name)))
    }
    if not {"url", "model"} <= given.keys():
        raise EndpointFailed(
            f"No endpoint is set: set {variable('url')} to its address and {variable('model')} to its model; {GUIDE}."
        )
    if cache:
        given.setdefault("cache", cache)
    try:
        return TypeAdapter(Settings).validate_python(given)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        raise EndpointFailed(f"{variable(name)} is invalid: it is the {describe_setting(name)}; {GUIDE}.") from None


def variable(name: str) -> str:
    return PREFIX + name.upper()


def describe_setting(name: str) -> str:
    """Return the description of a setting."""
    return str(TypeAdapter(Settings).json_schema()["properties"][name]["description"])
