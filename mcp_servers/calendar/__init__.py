"""A calendar service: events, series that repeat, attendees and their invitations, reminders."""

from . import laws
from .tools import server

__all__ = ["laws", "server"]
