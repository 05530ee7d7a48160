"""The server object that the tools and laws of the video meetings register on."""

from ..kit import Server
from .seed import seed

server = Server("video_meeting", "Schedule, hold, join and record video meetings.", seed)
