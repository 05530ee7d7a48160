"""Error text shown to users for internal errors; the traceback goes to the site's log."""

from __future__ import annotations


def fault(error: BaseException) -> str:
    """Return one sentence without the error's message, which may contain a path or a secret."""
    name = type(error).__name__
    return f"Internal error ({name}). The site's log has the details. Tell the site operator, then try again."
