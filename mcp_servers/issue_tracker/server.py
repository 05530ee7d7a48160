"""The server object that the tools and laws of the issue tracker register on."""

from ..kit import Server
from .seed import seed

server = Server("issue_tracker", "Track issues of software projects through workflows, sprints and versions.", seed)
