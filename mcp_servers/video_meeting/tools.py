"""All tools and laws of the video meetings, on their one server object."""

from . import laws, tools_live, tools_planning, tools_recordings
from .server import server

__all__ = ["laws", "server", "tools_live", "tools_planning", "tools_recordings"]
