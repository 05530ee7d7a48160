"""All tools and laws of the smart home, on its one server object."""

from . import (
    laws,
    tools_automations,
    tools_browse,
    tools_care,
    tools_devices,
    tools_doors,
    tools_guests,
    tools_scenes,
)
from .server import server

__all__ = [
    "laws",
    "server",
    "tools_automations",
    "tools_browse",
    "tools_care",
    "tools_devices",
    "tools_doors",
    "tools_guests",
    "tools_scenes",
]
