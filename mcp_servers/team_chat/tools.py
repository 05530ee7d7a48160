"""All tools and laws of the team chat, on its one server object."""

from . import laws, tools_channels, tools_marks, tools_messages
from .server import server

__all__ = ["laws", "server", "tools_channels", "tools_marks", "tools_messages"]
