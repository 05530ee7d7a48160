"""What generates: one protocol, and a file for each way to do it."""

from __future__ import annotations

from .factory import Name, backend_for
from .protocol import Asked, Backend, NoBackend, Spoken

__all__ = ["Asked", "Backend", "Name", "NoBackend", "Spoken", "backend_for"]
