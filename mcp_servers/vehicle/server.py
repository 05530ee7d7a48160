"""The server object that the tools and laws of the car register on."""

from ..kit import Server
from .seed import seed

server = Server(
    "vehicle", "Operate a car: engine, gears, doors, climate, navigation, driving, refuelling and service.", seed
)
