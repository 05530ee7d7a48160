"""All tools and laws of the social network, on its one server object."""

from . import laws, tools_people, tools_posts, tools_reactions, tools_reading
from .server import server

__all__ = ["laws", "server", "tools_people", "tools_posts", "tools_reactions", "tools_reading"]
