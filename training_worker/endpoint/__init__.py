"""Client for a language model behind any OpenAI-compatible chat endpoint, with a cache of all answers."""

from .client import Endpoint
from .settings import EndpointFailed, Settings, TooLong

__all__ = ["Endpoint", "EndpointFailed", "Settings", "TooLong"]
