"""All tools and laws of the car, on its one server object."""

from . import laws, tools_body, tools_cabin, tools_care, tools_driving, tools_engine, tools_look
from .server import server

__all__ = [
    "laws",
    "server",
    "tools_body",
    "tools_cabin",
    "tools_care",
    "tools_driving",
    "tools_engine",
    "tools_look",
]
