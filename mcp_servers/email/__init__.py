"""A mailbox: messages in threads, contacts, drafts and labels."""

from .tools import server

__all__ = ["server"]
