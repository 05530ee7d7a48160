"""Generation backends: one protocol, and one file for each implementation."""

from __future__ import annotations

from .factory import Name, backend_for
from .protocol import Backend, GenerationRequest, GenerationResult, NoBackend

__all__ = ["Backend", "GenerationRequest", "GenerationResult", "Name", "NoBackend", "backend_for"]
