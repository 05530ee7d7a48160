"""Token-in, token-out conversations: one growing list of ids that is never decoded and tokenized again.

The glue between two model turns is what the chat template writes there. If the model writes canonically, the assembled
ids therefore equal the template's rendering of the whole conversation. Sampled tokens stay exactly as they were
sampled. Text from users, tools and schemas never becomes a control token (see `escape_control_tokens`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from transformers import PreTrainedTokenizerFast

from ..core.trajectory import Message
from .model_families import Chat, chat_of, family_of

ANCHOR = "@"
TAGS = frozenset({"<tool_call>", "</tool_call>"})


@dataclass(frozen=True)
class EncodedConversation:
    """A conversation as ids; `mask` is 1 on the model's tokens (its end token included) and 0 elsewhere.

    A value between 0 and 1 marks a token whose loss has less weight.
    """

    ids: tuple[int, ...]
    mask: tuple[float, ...]


def as_dicts(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]


def encode(tokenizer: PreTrainedTokenizerFast, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False))


def render(
    tokenizer: PreTrainedTokenizerFast,
    messages: Sequence[Message],
    tools: Sequence[dict[str, Any]] = (),
    generate: bool = True,
) -> str:
    """Return the chat template's text of a conversation, with the opening of the next turn if `generate`.

    Raises UnknownFamily.
    """
    chat = chat_of(tokenizer)
    return str(
        tokenizer.apply_chat_template(
            [content_of(tokenizer, message) for message in messages],
            tools=escape_control_tokens(list(tools), control_texts(tokenizer, len(tokenizer), chat)) or None,
            chat_template=chat.template,
            add_generation_prompt=generate,
            tokenize=False,
            **chat.options,
        )
    )


def content_of(tokenizer: PreTrainedTokenizerFast, message: Message) -> dict[str, str]:
    """Return a message as the template takes it. Only an assistant's message may hold the tags of a call."""
    spoken = message.role == "assistant"
    control = control_texts(tokenizer, len(tokenizer), chat_of(tokenizer), TAGS if spoken else frozenset())
    return {"role": message.role, "content": escape_control_tokens(message.content, control)}


def escape_control_tokens(value: Any, control: re.Pattern[str]) -> Any:
    """Return the value with a space inside each text that would be a control token: <|im_end|> becomes < |im_end|>."""
    if isinstance(value, str):
        return control.sub(lambda found: f"{found[0][0]} {found[0][1:]}", value)
    if isinstance(value, list):
        return [escape_control_tokens(part, control) for part in value]
    if isinstance(value, dict):
        return {
            escape_control_tokens(key, control): escape_control_tokens(part, control) for key, part in value.items()
        }
    return value


@lru_cache(maxsize=16)
def control_texts(
    tokenizer: PreTrainedTokenizerFast, size: int, chat: Chat, but: frozenset[str] = frozenset()
) -> re.Pattern[str]:
    """Return a pattern for the texts of control tokens and the template's own marks, except those in `but`.

    `size` is the size of the tokenizer's vocabulary; it is only part of the cache key.
    """
    special = {token.content for token in tokenizer.added_tokens_decoder.values() if token.special}
    texts = {text for text in special | {*chat.control, *chat.stops} if len(text) > 1} - but
    return re.compile("|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True)))


def prompt_ids(
    tokenizer: PreTrainedTokenizerFast, opening: Sequence[Message], tools: Sequence[dict[str, Any]] = ()
) -> list[int]:
    return encode(tokenizer, render(tokenizer, opening, tools))


def glue_ids(tokenizer: PreTrainedTokenizerFast, messages: Sequence[Message]) -> list[int]:
    """Return the ids between the end token of one assistant turn and the first token of the next one."""
    before = [Message("user", ANCHOR), Message("assistant", ANCHOR)]
    text, end = render(tokenizer, [*before, *messages]), chat_of(tokenizer).end
    spoken = render(tokenizer, before, generate=False).rindex(end) + len(end)
    return encode(tokenizer, text[spoken:])


def said_ids(tokenizer: PreTrainedTokenizerFast, text: str) -> list[int]:
    """Return the ids of an assistant turn with this text, as the template renders it, and its end token.

    The text's own thinking is preserved even if the template opens the turn with an empty thought.
    """
    before = [Message("user", ANCHOR)]
    opened, family = render(tokenizer, before), family_of(tokenizer)
    rendered = render(tokenizer, [*before, Message("assistant", text)], generate=False)
    said = rendered[len(opened) : rendered.rindex(chat_of(tokenizer).end)] if rendered.startswith(opened) else text
    return [*encode(tokenizer, said), family.end]


def join(prompt: Sequence[int], turns: Iterable[tuple[Sequence[int], Sequence[int]]]) -> EncodedConversation:
    """Concatenate a prompt and turns, given as pairs of the glue before a turn and the model's unchanged ids."""
    ids, mask = list(prompt), [0] * len(prompt)
    for glue, said in turns:
        ids += [*glue, *said]
        mask += [0] * len(glue) + [1] * len(said)
    return EncodedConversation(tuple(ids), tuple(mask))


def turns_of(rest: Sequence[Message]) -> Iterator[tuple[list[Message], Message]]:
    """Yield each assistant message with the messages between it and the one before."""
    between: list[Message] = []
    for message in rest:
        if message.role == "assistant":
            yield between, message
            between = []
        else:
            between.append(message)


def encode_demonstration(
    tokenizer: PreTrainedTokenizerFast,
    opening: Sequence[Message],
    rest: Sequence[Message],
    tools: Sequence[dict[str, Any]] = (),
) -> EncodedConversation:
    """Encode a whole conversation as a policy would have produced it: prompt, then assistant turns and glue."""
    return join(
        prompt_ids(tokenizer, opening, tools),
        (
            (glue_ids(tokenizer, between) if between else [], said_ids(tokenizer, message.content))
            for between, message in turns_of(rest)
        ),
    )
