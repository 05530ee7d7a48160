"""A calendar service: events, series that repeat, attendees and their invitations, reminders."""

from .tools import server

__all__ = ["server"]
