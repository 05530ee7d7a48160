"""The tokenizer of the tiny policy: a byte-level BPE trained on rendered conversations, made for copying values.

A small model can copy a value only if it has the same tokens everywhere, in a question, a tool's answer or a call. So
numbers are cut into pairs of digits, an id is its prefix and its digits, a year and a month of a date are one token
each, capitalised words never include the space before them, and names are whole tokens. Each piece of text that every
conversation repeats (the template's own text, the JSON between the words of a tool schema, the keys of results) becomes
one token, which makes conversations about four times shorter.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from .chat_templates import QWEN3_INSTRUCT

END_OF_TEXT, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
MARKS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<tools>", "</tools>")
ID_PREFIX = r"\p{Lu}{2,6}-(?=\p{N})"
PUNCTUATION = r" ?[^\s\p{L}\p{N}_]+(?: (?=[\p{Lu}\p{N}]))?"  # with the space before a capital or a digit
YEAR, MONTH, SECONDS = r"(?<![\p{N}-])20\p{N}\p{N}(?!\p{N})", r"(?<=20\p{N}\p{N})-\p{N}\p{N}-", r":00Z"
PIECES = (
    rf"\n|{ID_PREFIX}|{YEAR}|{MONTH}|{SECONDS}|\p{{N}}{{1,2}}|\p{{Lu}}\p{{L}}*| ?[\p{{Ll}}\p{{Lo}}_]+|{PUNCTUATION}|\s"
)
# Words of JSON Schema between the punctuation; a parameter with the name `name` or `type` does not count.
KEYWORD = (
    r'"(?:(?:type|name|description|format)"(?=: ")|(?:parameters|properties|items|arguments)"(?=: \{)'
    r'|(?:required|enum)"(?=: \[)|(?:function|object|string|integer|number|boolean|array)")'
)
GLUE = re.compile(rf'(?:[{{}}\[\]:, ]|{KEYWORD}|")+')
ARGUMENTS = re.compile(r'(?<="arguments": \{")')  # an argument's name follows, even if it equals a keyword
MEMBER = re.compile(r'(?<![ ":,\[{])["\]}]{0,6},?[\[{]{0,3}"\w{1,40}":(?! )["\[{]{0,3}')  # a result's key in its JSON
LOUD = 1_000  # how often names and pairs of digits are repeated, so that each surely becomes one token


def train_tokenizer(
    texts: Sequence[str], names: Iterable[str] = (), vocabulary: int = 4096, glue: int = 320
) -> PreTrainedTokenizerFast:
    """Return a tokenizer with Qwen3's chat format, trained on conversations; `names` become single tokens.

    `vocabulary` counts the learned pieces without names and glue. The same input gives the same tokenizer.
    """
    found = {word for name in names for word in re.findall(r"[^\W\d_]+", name)}
    lower = {word.lower() for word in found}  # as e-mail addresses have them
    words = [*sorted(found | lower), *(f"{pair:02}" for pair in range(100))]
    pieces = [*boilerplate(), *glue_pieces(texts, glue)]
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    bpe.decoder = decoders.ByteLevel()
    cut = re.compile(
        "|".join(re.escape(piece) for piece in sorted([*pieces, *MARKS, START, END], key=len, reverse=True))
    )
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary + len(words),
        min_frequency=max(2, len(texts) // 200),
        special_tokens=[END_OF_TEXT, START, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    corpus = [part for text in texts for part in cut.split(text) if part]
    bpe.train_from_iterator([*corpus, *(word for word in words for _ in range(LOUD))], trainer)
    bpe.add_tokens([AddedToken(piece, normalized=False) for piece in (*MARKS, *pieces)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token=END,
        pad_token=END_OF_TEXT,
        additional_special_tokens=[START],
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = QWEN3_INSTRUCT
    return tokenizer


def plain_tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer that can only render: the template without a vocabulary."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()))
    tokenizer.chat_template = QWEN3_INSTRUCT
    return tokenizer


def boilerplate() -> list[str]:
    """Return the template's own sentences around the tools, each to be one token."""
    text: Any = plain_tokenizer().apply_chat_template(
        [{"role": "user", "content": "@"}], tools=[{"tool": "@"}], add_generation_prompt=True, tokenize=False
    )
    before, after = text.split(json.dumps({"tool": "@"}))
    return [before.removeprefix(START), after.split(END)[0]]


def glue_pieces(texts: Iterable[str], limit: int) -> list[str]:
    """Return the JSON between words of schemas, calls and answers that would save most tokens, best first."""
    parts = [part for text in texts for part in ARGUMENTS.split(text)]
    seen = Counter(run for part in parts for pattern in (GLUE, MEMBER) for run in pattern.findall(part) if len(run) > 2)
    worth = {run: (len(re.findall(r"\w+|[^\w\s]", run)) - 1) * count for run, count in seen.items() if count > 1}
    return sorted(worth, key=lambda run: (-worth[run], run))[:limit]
