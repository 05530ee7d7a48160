"""What the warm-up trains on, made of training data: copy drills, demonstrations without schemas, full prompts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import torch
from transformers import PreTrainedTokenizerFast

from ..prove.messages import user_message
from ..prove.rollout import Prompt, demonstration
from ..prove.trajectory import Example, Message
from .conversation import Encoded, encode, encode_demonstration, render
from .families import chat_of
from .sft import Stage

LONGEST_VALUE = 40
SEPARATORS = (" | ", ", ", '", "', " ")


class Shown(Protocol):
    """What a model is shown before it speaks."""

    @property
    def opening(self) -> Sequence[Message]: ...

    @property
    def tools(self) -> Sequence[dict[str, Any]]: ...


Show = Callable[[Example], Shown]


def spoken(tokenizer: PreTrainedTokenizerFast, example: Example) -> tuple[Message, ...]:
    """The demonstration, with calls as the tokenizer's model writes them."""
    return demonstration(example, chat_of(tokenizer).format)


def full(tokenizer: PreTrainedTokenizerFast, example: Example, prompt: Show = Prompt) -> Encoded:
    asked = prompt(example)
    return encode_demonstration(tokenizer, asked.opening, spoken(tokenizer, example), asked.tools)


def brief(tokenizer: PreTrainedTokenizerFast, example: Example) -> Encoded:
    """The demonstration without tool schemas: what is said and copied, in a third of the tokens."""
    return encode_demonstration(tokenizer, (user_message(example, 0),), spoken(tokenizer, example))


def text(tokenizer: PreTrainedTokenizerFast, example: Example, prompt: Show = Prompt) -> str:
    """The whole conversation as the template renders it: what a tokenizer is trained on."""
    asked = prompt(example)
    return render(tokenizer, [*asked.opening, *spoken(tokenizer, example)], asked.tools, generate=False)


def values(examples: Iterable[Example]) -> list[str]:
    """The short values of the examples' observations, each once: what a policy will have to copy."""
    found: dict[str, None] = {}
    for example in examples:
        for step in example.steps:
            for observation in step.observations:
                for leaf in leaves(observation):
                    found[leaf] = None
    return list(found)


def names(pool: Iterable[str]) -> list[str]:
    """The values that look like a person's name: two capitalised words."""
    return [value for value in pool if re.fullmatch(r"[A-Z]\w+ [A-Z]\w+", value)]


def leaves(observation: str) -> Iterator[str]:
    try:
        left: list[Any] = [json.loads(observation)]
    except ValueError:
        return
    while left:
        match left.pop():
            case dict() as members:
                left.extend(members.values())
            case list() as items:
                left.extend(items)
            case bool() | None:
                pass
            case leaf if 1 < len(str(leaf)) <= LONGEST_VALUE:
                yield str(leaf)


class Draws:
    """Seeded choices."""

    def __init__(self, seed: int):
        self.generator = torch.Generator().manual_seed(seed)

    def below(self, end: int) -> int:
        return int(torch.randint(end, (1,), generator=self.generator))

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.below(len(options))]


def drills(tokenizer: PreTrainedTokenizerFast, pool: Sequence[str], count: int, seed: int) -> list[Encoded]:
    """Dense copying exercises: a list of values (or of random tokens), then the same list again."""
    draws = Draws(seed)
    before, between = encode(tokenizer, "<|im_start|>user\n"), encode(tokenizer, "<|im_end|>\n<|im_start|>assistant\n")
    end = int(tokenizer.eos_token_id)

    def drill() -> Encoded:
        if not pool or draws.below(10) < 4:
            body = [3 + draws.below(len(tokenizer) - 3) for _ in range(12 + draws.below(28))]
        else:
            body = encode(tokenizer, draws.pick(SEPARATORS).join(draws.pick(pool) for _ in range(4 + draws.below(6))))
        mask = [0] * (len(before) + len(body) + len(between)) + [1] * (len(body) + 1)
        return Encoded((*before, *body, *between, *body, end), tuple(mask))

    return [drill() for _ in range(count)]


def warmup_stages(
    tokenizer: PreTrainedTokenizerFast, examples: Sequence[Example], longest: int, seed: int, prompt: Show = Prompt
) -> list[Stage]:
    """Drills, then short contexts, then full prompts; conversations of over `longest` tokens are left out."""
    whole = [one for example in examples if len((one := full(tokenizer, example, prompt)).ids) <= longest]
    short = [one for example in examples if len((one := brief(tokenizer, example)).ids) <= longest]
    return [
        Stage("drills", drills(tokenizer, values(examples), 4_000, seed), 16, 0.07),
        Stage("short", short, 16, 0.3),
        Stage("full", whole, 6, 0.63),
    ]
