"""A travel agency: flights with seats and fares, hotels by night, passports, miles, and what it all cost."""

from .tools import server

__all__ = ["server"]
