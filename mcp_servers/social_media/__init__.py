"""A social network: profiles, follows and blocks, posts with likes, comments and reposts."""

from . import laws
from .tools import server

__all__ = ["laws", "server"]
