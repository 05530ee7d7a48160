"""A chat of a team: channels, messages in threads, reactions and pins."""

from .tools import server

__all__ = ["server"]
