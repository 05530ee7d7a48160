"""The server object that the tools and laws of the calendar register on."""

from ..kit import Server
from .seed import seed

server = Server("calendar", "Manage calendars, events, recurring events, invitations and reminders.", seed)
