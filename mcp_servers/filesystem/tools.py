"""All tools and laws of the file server, on its one server object."""

from . import (
    laws,
    tools_access,
    tools_archives,
    tools_browse,
    tools_files,
    tools_find,
    tools_folders,
    tools_info,
    tools_read,
    tools_trash,
    tools_versions,
    tools_write,
)
from .server import server

__all__ = [
    "laws",
    "server",
    "tools_access",
    "tools_archives",
    "tools_browse",
    "tools_files",
    "tools_find",
    "tools_folders",
    "tools_info",
    "tools_read",
    "tools_trash",
    "tools_versions",
    "tools_write",
]
