"""A shared file server: folders, files, links, archives, permissions, locks, versions, tags and a trash."""

from . import laws, tools_access, tools_files, tools_text
from .server import server

__all__ = ["laws", "server", "tools_access", "tools_files", "tools_text"]
