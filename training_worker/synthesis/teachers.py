"""Teachers by recipe: the programmatic one, or the language model set in the environment."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache

from ..endpoint import Endpoint, EndpointFailed
from ..endpoint.settings import Settings, from_environment, variable

PROGRAMMATIC = "programmatic"


@cache
def endpoint(model: str) -> Endpoint:
    """Return the endpoint of this process, with its share of the limits. Raises EndpointFailed."""
    settings = from_environment(os.environ)
    if settings.model != model:
        raise EndpointFailed(f"The recipe needs {model}; set {variable('model')} to it, not to {settings.model}.")
    return Endpoint(share(settings))


def share(settings: Settings) -> Settings:
    """Return the limits for one of `parallel` processes, each of which sends one request at a time."""
    rate, tokens = settings.per_minute, settings.tokens
    return replace(
        settings,
        per_minute=max(1, rate // settings.parallel) if rate else 0,
        tokens=max(1, tokens // settings.parallel) if tokens else 0,
        parallel=1,
    )
