"""Tool schemas in the system prompt, for endpoints without tool support; tool results become user messages.

The text is that of Qwen's chat template, so that a model trained with it sees its usual format.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..core.trajectory import Message

PROMPT = """{system}# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{tools}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>"""


def inline_tools(messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> list[Message]:
    """Return the messages with the tools in the system message and tool results as user messages."""
    system, rest = "", list(messages)
    if rest and rest[0].role == "system":
        system = f"{rest.pop(0).content}\n\n"
    listed = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
    found = [Message("system", PROMPT.format(system=system, tools=listed))]
    for message in rest:
        answer = f"<tool_response>\n{message.content}\n</tool_response>"
        if message.role != "tool":
            found.append(message)
        elif found[-1].role == "user" and found[-1].content.endswith("</tool_response>"):
            found[-1] = Message("user", f"{found[-1].content}\n{answer}")
        else:
            found.append(Message("user", answer))
    return found
