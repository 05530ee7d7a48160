"""A smart home: rooms, devices, sensors, doors and an alarm, scenes and automations."""

from .tools import server

__all__ = ["server"]
