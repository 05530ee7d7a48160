"""All tools and laws of the mailbox, on its one server object."""

from . import laws, tools_drafts, tools_labels, tools_messages, tools_sending
from .server import server

__all__ = ["laws", "server", "tools_drafts", "tools_labels", "tools_messages", "tools_sending"]
