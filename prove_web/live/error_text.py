"""What people are told of a fault of ours; its traceback is for the log of whoever runs the site."""

from __future__ import annotations


def fault(error: BaseException) -> str:
    """One sentence without the error's own words, which may hold a path or a secret."""
    name = type(error).__name__
    return f"Internal error ({name}). The site's log has the details. Tell the site operator, then try again."
