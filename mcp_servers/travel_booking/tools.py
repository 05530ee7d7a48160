"""All tools and laws of the travel agency, on its one server object."""

from . import laws, tools_bookings, tools_checkin, tools_flights, tools_hotels, tools_stays, tools_travellers
from .server import server

__all__ = [
    "laws",
    "server",
    "tools_bookings",
    "tools_checkin",
    "tools_flights",
    "tools_hotels",
    "tools_stays",
    "tools_travellers",
]
