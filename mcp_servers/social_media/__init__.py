"""A social network: profiles, follows and blocks, posts with likes, comments and reposts."""

from .tools import server

__all__ = ["server"]
