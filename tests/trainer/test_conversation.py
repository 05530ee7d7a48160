"""Token in, token out: what is assembled equals what the template renders, and the mask marks who spoke."""

from __future__ import annotations

import pytest
from transformers import PreTrainedTokenizerFast

from training_worker.core.trajectory import Example, Message
from training_worker.environment.episode import demonstration
from training_worker.policy.conversation import EncodedConversation, as_dicts, encode, encode_demonstration, glue_ids

from .double import Bank


def encoded(tokenizer: PreTrainedTokenizerFast, example: Example) -> EncodedConversation:
    attempt = Bank(example)
    return encode_demonstration(tokenizer, attempt.opening, demonstration(example), attempt.tools)


def test_the_assembled_ids_are_those_of_the_template(
    tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> None:
    for example in examples:
        attempt = Bank(example)
        messages = as_dicts([*attempt.opening, *demonstration(example)])
        rendered = tokenizer.apply_chat_template(messages, tools=list(attempt.tools), tokenize=False)
        ids = encode(tokenizer, str(rendered))
        assert [*encoded(tokenizer, example).ids, *encode(tokenizer, "\n")] == ids


def test_the_mask_is_one_exactly_where_the_model_speaks(
    tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> None:
    for example in examples:
        one = encoded(tokenizer, example)
        spoken = tokenizer.decode([id for id, mine in zip(one.ids, one.mask, strict=True) if mine])
        said = [message.content + "<|im_end|>" for message in demonstration(example) if message.role == "assistant"]
        assert spoken == "".join(said)


USER = "\n<|im_start|>user\nAnd?<|im_end|>\n<|im_start|>assistant\n"
TOOLS = (
    "\n<|im_start|>user\n<tool_response>\n{}\n</tool_response>\n<tool_response>\n[]\n</tool_response>"
    "<|im_end|>\n<|im_start|>assistant\n"
)


@pytest.mark.parametrize(
    ("between", "text"), [([Message("user", "And?")], USER), ([Message("tool", "{}"), Message("tool", "[]")], TOOLS)]
)
def test_glue_begins_after_the_end_token_and_opens_the_next_turn(
    tokenizer: PreTrainedTokenizerFast, between: list[Message], text: str
) -> None:
    assert tokenizer.decode(glue_ids(tokenizer, between)) == text
