"""A shared file server: folders, files, links, archives, permissions, locks, versions, tags and a trash."""

from .tools import server

__all__ = ["server"]
