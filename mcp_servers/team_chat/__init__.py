"""A team chat: channels, messages in threads, reactions and pins."""

from . import laws
from .tools import server

__all__ = ["laws", "server"]
