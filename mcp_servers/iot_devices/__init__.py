"""A smart home: rooms, devices, sensors, doors and an alarm, scenes and automations."""

from . import laws, tools_access, tools_automations, tools_devices
from .server import server

__all__ = ["laws", "server", "tools_access", "tools_automations", "tools_devices"]
