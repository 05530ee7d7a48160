"""The xLAM-irrelevance importer (MadeAgents/xlam-irrelevance-7.5k): queries whose matching tool was removed.

A row has `query`, and `tools` and `answers` as JSON text; a row without answers requires no call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from .conversation import ABSTAINS, CALL_DUE, Conversation, LeftOut, parse_json_value, tools_of, validate_row


class Query(BaseModel):
    query: str
    tools: Any
    answers: Any = None


def convert(row: Mapping[str, Any]) -> Conversation:
    """Convert a row to a conversation. Raises BadRow, LeftOut."""
    found = validate_row(Query, row)
    if parse_json_value(found.answers or "[]", "answers"):
        raise LeftOut(CALL_DUE)
    return Conversation(turns=(found.query,), answers=(ABSTAINS,), tools=tools_of(found.tools))
