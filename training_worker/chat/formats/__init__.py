"""Tool-call text formats of model families; each module parses and writes one format."""

from __future__ import annotations

from .hermes import Hermes
from .llama3 import Llama3
from .one_call import Format

HERMES = Hermes()
LLAMA3 = Llama3()
FORMATS: tuple[Format, ...] = (HERMES, LLAMA3)

__all__ = ["FORMATS", "HERMES", "LLAMA3", "Format"]
