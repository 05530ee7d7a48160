"""A language model behind any OpenAI-compatible chat endpoint: what it was asked, what it answered, and never twice."""

from .client import Endpoint
from .settings import EndpointFailed, Settings, TooLong

__all__ = ["Endpoint", "EndpointFailed", "Settings", "TooLong"]
