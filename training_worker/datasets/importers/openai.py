"""The importer for the OpenAI chat format with tools: a row has `messages` and `tools`.

Assistant text next to tool calls is dropped, and so are images.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from .conversation import BadRow, Chat, ChatMessage, Conversation, tools_of, validate_row


class ChatRow(BaseModel):
    messages: list[ChatMessage]
    tools: Any = None


def convert(row: Mapping[str, Any]) -> Conversation:
    """Convert a row to a conversation. Raises BadRow."""
    found = validate_row(ChatRow, row)
    if not any(message.role == "assistant" for message in found.messages):
        raise BadRow("there is no assistant message")
    return Chat().take(found.messages).conversation(tools_of(found.tools or []))
