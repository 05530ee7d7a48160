"""A mailbox: messages in threads, contacts, drafts and labels."""

from . import laws
from .tools import server

__all__ = ["laws", "server"]
