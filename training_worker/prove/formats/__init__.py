"""How families of models write tool calls in their text: one file a format, each of which reads and writes."""

from __future__ import annotations

from .hermes import Hermes
from .llama3 import Llama3
from .one_call import Format

HERMES = Hermes()
LLAMA3 = Llama3()
FORMATS: tuple[Format, ...] = (HERMES, LLAMA3)

__all__ = ["FORMATS", "HERMES", "LLAMA3", "Format"]
