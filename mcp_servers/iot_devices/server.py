"""The server object that the tools and laws of the smart home register on."""

from ..kit import Server
from .seed import seed

server = Server(
    "iot_devices", "Control a smart home: lights, climate, doors, alarm, vacuum, sensors, scenes and automations.", seed
)
