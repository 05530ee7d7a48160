"""The OpenAI chat format with tools: a row has `messages` and `tools`.

What the assistant says beside its calls is not kept, nor are images.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from .conversation import BadRow, Chat, ChatMessage, Conversation, shaped, tools_of


class Chatted(BaseModel):
    messages: list[ChatMessage]
    tools: Any = None


def convert(row: Mapping[str, Any]) -> Conversation:
    """The conversation of a row. Raises BadRow."""
    found = shaped(Chatted, row)
    if not any(message.role == "assistant" for message in found.messages):
        raise BadRow("there is no reply of the assistant")
    return Chat().take(found.messages).conversation(tools_of(found.tools or []))
