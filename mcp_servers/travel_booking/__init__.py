"""A travel agency: flights with seats and fares, hotels by night, passports, miles and payments."""

from . import laws, tools_flights, tools_hotels
from .server import server

__all__ = ["laws", "server", "tools_flights", "tools_hotels"]
