"""Token in, token out: a conversation as one growing list of ids that is never decoded and tokenized again.

The glue between two model turns is what the chat template writes there, so that for a model that writes canonically the
assembled ids equal the template's rendering of the whole conversation. Sampled tokens are kept as they were sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from transformers import PreTrainedTokenizerFast

from ..prove.trajectory import Message

ANCHOR = "@"


@dataclass(frozen=True)
class Encoded:
    """A conversation as ids; `mask` is 1 where the model speaks (its end token included), 0 elsewhere."""

    ids: tuple[int, ...]
    mask: tuple[int, ...]


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
    """The chat template's text of a conversation, with the opening of the next assistant turn if `generate`."""
    return str(
        tokenizer.apply_chat_template(
            as_dicts(messages), tools=list(tools) or None, add_generation_prompt=generate, tokenize=False
        )
    )


def prompt_ids(
    tokenizer: PreTrainedTokenizerFast, opening: Sequence[Message], tools: Sequence[dict[str, Any]] = ()
) -> list[int]:
    return encode(tokenizer, render(tokenizer, opening, tools))


def glue_ids(tokenizer: PreTrainedTokenizerFast, messages: Sequence[Message]) -> list[int]:
    """The ids between the end token of one assistant turn and the first token of the next, given what came between."""
    before = [Message("user", ANCHOR), Message("assistant", ANCHOR)]
    text = render(tokenizer, [*before, *messages])
    spoken = render(tokenizer, before, generate=False).rindex(str(tokenizer.eos_token)) + len(str(tokenizer.eos_token))
    return encode(tokenizer, text[spoken:])


def encode_demonstration(
    tokenizer: PreTrainedTokenizerFast,
    opening: Sequence[Message],
    rest: Sequence[Message],
    tools: Sequence[dict[str, Any]] = (),
) -> Encoded:
    """A whole conversation as a policy would have produced it: prompt, then assistant turns and glue."""
    ids = prompt_ids(tokenizer, opening, tools)
    mask = [0] * len(ids)
    between: list[Message] = []
    for message in rest:
        if message.role != "assistant":
            between.append(message)
            continue
        glue = glue_ids(tokenizer, between) if between else []
        said = [*encode(tokenizer, message.content), int(tokenizer.eos_token_id)]
        ids += glue + said
        mask += [0] * len(glue) + [1] * len(said)
        between = []
    return Encoded(tuple(ids), tuple(mask))
