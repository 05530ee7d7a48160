"""xLAM-irrelevance (MadeAgents/xlam-irrelevance-7.5k): queries whose tool was taken off the list.

A row has `query`, and `tools` and `answers` as JSON text; no answers, no call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from .conversation import ABSTAINS, CALL_DUE, Conversation, LeftOut, loaded, shaped, tools_of


class Query(BaseModel):
    query: str
    tools: Any
    answers: Any = None


def convert(row: Mapping[str, Any]) -> Conversation:
    """The conversation of a row. Raises BadRow, LeftOut."""
    found = shaped(Query, row)
    if loaded(found.answers or "[]", "answers"):
        raise LeftOut(CALL_DUE)
    return Conversation(turns=(found.query,), answers=(ABSTAINS,), tools=tools_of(found.tools))
