"""The server object that the tools and laws of the social network register on."""

from ..kit import Server
from .seed import seed

server = Server("social_media", "Follow people, publish posts, and like, comment on or repost those of others.", seed)
