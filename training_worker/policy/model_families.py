"""Model families: the chat template, the format of calls, and the tokens that end a turn.

The family is recognised by what the chat template renders, not by a model's name: a conversation with a call is
rendered once, and the family is the one whose turns and calls appear in the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from jinja2 import TemplateError
from transformers import PreTrainedTokenizerFast
from transformers.utils.chat_template_utils import render_jinja_template

from ..chat.formats import HERMES, LLAMA3, Format
from ..core.trajectory import ToolCall, UnreadableData
from .chat_templates import QWEN3_TRAINING

REMEDY = (
    "Train an instruct model of Qwen3, Qwen2.5, Granite 4 or Llama 3, or put the chat template of one of them, and its "
    "special tokens, into the folder; docs/models.md lists the supported ones."
)
TOOL = {"type": "function", "function": {"name": "probe_tool", "description": "", "parameters": {}}}
CALL = ToolCall("probe_call", {"probe_key": "probe_value"})
PARTS = ("probe_question", "probe_tool", "probe_call", "probe_key", "probe_value", "probe_result", "probe_answer")
QWEN25_SYSTEM = "You are Qwen, created by Alibaba Cloud."
MARKS = ("<tool_response>", "</tool_response>")


class UnknownFamily(UnreadableData):
    """A tokenizer whose conversations cannot be assembled here; the message says why and what to do."""


@dataclass(frozen=True)
class Chat:
    """The conversation format of a family. `opening` and `end` surround an assistant turn.

    `template` renders earlier turns the same whatever follows: it is the model's own unless that does not. `options`
    pin values that it would look up elsewhere, such as today's date. `control` are texts that no content may hold.
    """

    name: str
    format: Format
    opening: str
    end: str
    stops: tuple[str, ...]
    control: tuple[str, ...] = ()
    template: str = ""
    pinned: str = ""
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Family:
    """A family of models; `stop` holds the ids that end an assistant turn, `end` the one that the template writes."""

    name: str
    format: Format
    stop: frozenset[int]
    end: int


QWEN = Chat(
    "qwen3", HERMES, "<|im_start|>assistant\n", "<|im_end|>", ("<|im_end|>", "<|endoftext|>"), ("<|im_start|>", *MARKS)
)
GRANITE = Chat(
    "granite4", HERMES, "<|start_of_role|>assistant<|end_of_role|>", "<|end_of_text|>", ("<|end_of_text|>",),
    ("<|start_of_role|>", "<|end_of_role|>", *MARKS),
)  # fmt: skip
LLAMA = Chat(
    "llama3", LLAMA3, "<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>",
    ("<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"), ("<|start_header_id|>", "<|end_header_id|>", "<|begin_of_text|>"),
    options={"date_string": "26 Jul 2024"},
)  # fmt: skip
THINKING = {
    "pinned": "TRL's qwen3_training.jinja, because the model's own drops the thinking of earlier turns",
    "template": QWEN3_TRAINING,
    "options": {"enable_thinking": False},
}


def family_of(tokenizer: PreTrainedTokenizerFast) -> Family:
    """Return the family of a tokenizer's chat template. Raises UnknownFamily."""
    chat = chat_of(tokenizer)
    ids: list[Any] = [tokenizer.convert_tokens_to_ids(token) for token in (chat.end, *chat.stops)]
    end = ids[0]
    if end is None or end == tokenizer.unk_token_id or len(tokenizer.encode(chat.end, add_special_tokens=False)) != 1:
        raise UnknownFamily(
            f"The chat template is that of {chat.name}, which ends a turn with {chat.end}, and the tokenizer has no "
            f"such token. {REMEDY}"
        )
    known = {id for id in (*ids, tokenizer.eos_token_id) if id not in (None, tokenizer.unk_token_id)}
    return Family(chat.name, chat.format, frozenset(known), end)


def chat_of(tokenizer: PreTrainedTokenizerFast) -> Chat:
    """Return the conversation format of a tokenizer, which needs no vocabulary for this. Raises UnknownFamily."""
    template = tokenizer.chat_template
    if isinstance(template, dict):  # named variants
        template = template.get("tool_use") or template.get("default")
    if not template:
        raise UnknownFamily(f"There is no chat template, so the model's conversation format is unknown. {REMEDY}")
    return recognise(str(template))


@lru_cache(maxsize=32)
def recognise(template: str) -> Chat:
    """Return the conversation format of a chat template. Raises UnknownFamily."""
    function = {"name": CALL.name, "arguments": CALL.arguments}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "probe_question"},
        {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]},
        {"role": "tool", "content": "probe_result"},
    ]
    try:
        text = render_template(template, [*messages, {"role": "assistant", "content": "probe_answer"}])
        opened = render_template(template, messages, add_generation_prompt=True)
    except (TemplateError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0][:200]
        raise UnknownFamily(f"The chat template cannot render a call and its result ({reason}). {REMEDY}") from None
    if lost := [part for part in PARTS if part not in text]:
        what = "tools" if lost == ["probe_tool"] else "tool calls and their results"
        raise UnknownFamily(f"The chat template cannot render {what}: it leaves them out. {REMEDY}")
    for chat in (QWEN, GRANITE, LLAMA):
        if chat.opening + chat.format.write([CALL]) + chat.end in text:
            return variant(chat, template, text, opened)
    raise UnknownFamily(f"The chat template belongs to no supported family. {REMEDY}")


def variant(chat: Chat, template: str, text: str, opened: str) -> Chat:
    """Return a family's conversation format, adapted to this template. Raises UnknownFamily."""
    changes: dict[str, Any] = {"template": template}
    if chat is QWEN and QWEN25_SYSTEM in text:
        changes["name"] = "qwen2.5"
    if "<think>" in opened or ("<think>" in text and "enable_thinking" not in template):
        raise UnknownFamily(f"The chat template always makes the model think before it answers. {REMEDY}")
    if "<think>" in text:
        changes |= THINKING
    elif not opened.endswith(chat.opening):
        raise UnknownFamily(f"The chat template does not open the assistant's turn with {chat.opening!r}. {REMEDY}")
    found = Chat(**{**vars(chat), **changes})
    if not keeps_earlier_turns(found):
        raise UnknownFamily(f"The chat template renders earlier turns differently once others follow. {REMEDY}")
    return found


def keeps_earlier_turns(chat: Chat) -> bool:
    """Return whether each turn renders the same whatever follows it."""
    said = (
        ("user", "probe_question"),
        ("assistant", "probe_call"),
        ("tool", "probe_result"),
        ("assistant", "probe_answer"),
    )
    talk = [{"role": role, "content": text} for role, text in (*said, *said)]
    texts = [render_template(chat.template, talk[:length], **chat.options) for length in range(1, len(talk) + 1)]
    ends = [text.rindex(chat.end) for text in texts]
    return all(texts[-1].startswith(text[:end]) for text, end in zip(texts, ends, strict=True))


def render_template(template: str, messages: list[dict[str, Any]], **options: Any) -> str:
    options |= {"bos_token": "", "eos_token": ""}
    texts: Any = render_jinja_template([messages], tools=[TOOL], chat_template=template, **options)[0]
    return str(texts[0])
