"""The server object that the tools and laws of the food delivery register on."""

from ..kit import Server
from .seed import seed

server = Server(
    "food_delivery", "Order food from restaurants in town, follow the delivery, tip, rate and ask for refunds.", seed
)
