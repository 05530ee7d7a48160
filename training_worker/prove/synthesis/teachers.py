"""Teachers by recipe: the programmatic one, or the language model that the environment names."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache

from .endpoint import Endpoint, EndpointFailed
from .endpoint.settings import Settings, from_environment, variable

PROGRAMMATIC = "programmatic"


@cache
def endpoint(model: str) -> Endpoint:
    """The endpoint that a process keeps, with its share of the limits."""
    settings = from_environment(os.environ)
    if settings.model != model:
        raise EndpointFailed(f"The recipe asks for {model}; set {variable('model')} to it, not to {settings.model}.")
    return Endpoint(share(settings))


def share(settings: Settings) -> Settings:
    """What one of `parallel` processes may ask for, each of which sends one request at a time."""
    rate, tokens = settings.per_minute, settings.tokens
    return replace(
        settings,
        per_minute=max(1, rate // settings.parallel) if rate else 0,
        tokens=max(1, tokens // settings.parallel) if tokens else 0,
        parallel=1,
    )
