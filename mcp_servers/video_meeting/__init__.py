"""A service for video meetings: passcodes, waiting and breakout rooms, recordings with transcripts."""

from . import laws
from .tools import server

__all__ = ["laws", "server"]
