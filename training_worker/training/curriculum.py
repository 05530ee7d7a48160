"""Warm-up stages built from training data: look-up drills, then demonstrations without and with tool schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, Protocol

import torch
from transformers import PreTrainedTokenizerFast

from ..chat.messages import user_message
from ..core.trajectory import Act, Example, Message
from ..environment.episode import Prompt, demonstration
from ..policy.conversation import EncodedConversation, encode, encode_demonstration, render
from ..policy.model_families import chat_of
from ..reward.acts import questions
from .augmentation import reword, word_pool
from .packed_sft import Stage
from .rationale import find_lists, rationales, shorten

LONGEST_VALUE = 40
MOST_LOOKUPS = 8_000  # drills; of fewer conversations as many as there are
ANSWERS = {"call": "All right.", "decline": "I have no tool for that."}  # the short answer of each act


class PromptLike(Protocol):
    """The messages and tools that a model gets before its first turn."""

    @property
    def opening(self) -> Sequence[Message]: ...

    @property
    def tools(self) -> Sequence[dict[str, Any]]: ...


Show = Callable[[Example], PromptLike]


def shorten_answers(example: Example) -> Example:
    """Return the example with answers of a few words: the question of an act that asks, else a fixed sentence.

    A policy of a few million parameters cannot repeat an account's balance in a sentence: it would invent one. No
    reward depends on these words, yet they would be two thirds of its output.
    """

    def shorten(act: Act, answer: str) -> str:
        found = questions(answer) if act == "ask" else []
        return found[-1] if found else ANSWERS.get(act, answer)

    if not example.acts:
        return example
    return replace(example, answers=tuple(map(shorten, example.acts, example.answers)))


def build_demonstration(tokenizer: PreTrainedTokenizerFast, example: Example) -> tuple[Message, ...]:
    """Return the demonstration, with calls in the model's format and the names of the objects that they use."""
    return demonstration(example, chat_of(tokenizer).format, rationales(example))


def encode_full_demonstration(
    tokenizer: PreTrainedTokenizerFast, example: Example, prompt: Show = Prompt
) -> EncodedConversation:
    opening = prompt(example)
    return encode_demonstration(tokenizer, opening.opening, build_demonstration(tokenizer, example), opening.tools)


def brief(tokenizer: PreTrainedTokenizerFast, example: Example) -> EncodedConversation:
    """Encode the demonstration without tool schemas: the same turns in a third of the tokens."""
    return encode_demonstration(tokenizer, (user_message(example, 0),), build_demonstration(tokenizer, example))


def text(tokenizer: PreTrainedTokenizerFast, example: Example, prompt: Show = Prompt) -> str:
    """Render the whole conversation with the template, as training text for a tokenizer."""
    opening = prompt(example)
    return render(
        tokenizer, [*opening.opening, *build_demonstration(tokenizer, example)], opening.tools, generate=False
    )


def values(examples: Iterable[Example]) -> list[str]:
    """Return the distinct short values in the examples' observations, which a policy will have to copy."""
    found: dict[str, None] = {}
    for example in examples:
        for step in example.steps:
            for observation in step.observations:
                for leaf in find_leaf_values(observation):
                    found[leaf] = None
    return list(found)


def names(pool: Iterable[str]) -> list[str]:
    """Return the values that look like a person's name: two capitalised words."""
    return [value for value in pool if re.fullmatch(r"[A-Z]\w+ [A-Z]\w+", value)]


def find_leaf_values(observation: str) -> Iterator[str]:
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
    """Seeded random choices."""

    def __init__(self, seed: int):
        self.generator = torch.Generator().manual_seed(seed)

    def draw_integer(self, end: int) -> int:
        return int(torch.randint(end, (1,), generator=self.generator))

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.draw_integer(len(options))]

    def shuffle_options(self, options: Sequence[Any]) -> list[Any]:
        return [options[at] for at in torch.randperm(len(options), generator=self.generator).tolist()]


def tables(examples: Iterable[Example]) -> list[str]:
    """Return the results that list at least three objects, each with an id and names."""

    def is_table(result: str) -> bool:
        things = next(find_lists(result), [])
        return result.startswith("[") and len(things) > 2 and all(row.texts for row in things)

    results = (result for example in examples for step in example.steps for result in step.observations)
    return [result for result in results if is_table(result)]


def lookups(
    tokenizer: PreTrainedTokenizerFast, pool: Sequence[str], count: int, seed: int
) -> list[EncodedConversation]:
    """Return dense exercises in finding ids: a result that lists objects, then names of them, each with its id.

    The names look like the rationale of a demonstration. Their choice is random, so only the ids can be learnt. Some
    lists are short, and some objects have only a name: the circuit is learnt from these first.
    """
    draws, end = Draws(seed), int(tokenizer.eos_token_id)
    encode_text = cache(partial(encode, tokenizer))  # the pieces of a drill are few, and return in most of them
    rows_of = cache(lambda result: next(find_lists(result)))
    before_user, before_assistant = map(encode_text, ("<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"))

    def make_drill() -> EncodedConversation:
        result = draws.pick(pool)
        chosen = {row.id: draws.pick(row.names()) for row in draws.shuffle_options(rows_of(result))}
        most = 2 + draws.draw_integer(len(chosen) - 1) if draws.draw_integer(2) else len(chosen)
        names = dict(list(chosen.items())[:most])
        things = [{thing["id"]: thing for thing in json.loads(result)}[id] for id in names]
        if draws.draw_integer(10) < 3:
            things = [{k: v for k, v in one.items() if k == "id" or is_name(v, names[one["id"]])} for one in things]
        answer, mask = list[int](), list[int]()
        for id in [*draws.shuffle_options([*names]), *draws.shuffle_options([*names])]:
            before, learnt, after = (encode_text(text) for text in (f'"{names[id]}" (', id, "), "))
            answer += [*before, *learnt, *after]
            mask += [*[0] * len(before), *[1] * len(learnt), *[0] * len(after)]
        listing = json.dumps(things, ensure_ascii=False, separators=(",", ":"))
        prompt = [*before_user, *encode(tokenizer, listing), *before_assistant]
        return EncodedConversation((*prompt, *answer, end), (*[0] * len(prompt), *mask, 1))

    def is_name(value: Any, name: str) -> bool:
        return isinstance(value, str) and shorten(value) == name

    return [make_drill() for _ in range(count)] if pool else []


def warmup_stages(
    tokenizer: PreTrainedTokenizerFast, examples: Sequence[Example], longest: int, seed: int, prompt: Show = Prompt
) -> list[Stage]:
    """Return drills, short contexts and full prompts as stages, without conversations over `longest` tokens.

    All short conversations and every other full one have their copied texts replaced (see augmentation.py).
    """
    pool, draws = word_pool(examples), Draws(seed)
    reworded = [reword(example, pool, draws.pick) for example in examples]
    mixed = [one if at % 2 else other for at, (one, other) in enumerate(zip(examples, reworded, strict=True))]
    demonstrations = [
        one for example in mixed if len((one := encode_full_demonstration(tokenizer, example, prompt)).ids) <= longest
    ]
    short = [one for example in reworded if len((one := brief(tokenizer, example)).ids) <= longest]
    exercises = lookups(tokenizer, tables(reworded), min(MOST_LOOKUPS, len(examples)), seed)
    return [
        *([Stage("lookup", exercises, 16, 0.12)] if exercises else []),
        Stage("short", short, 12, 0.28),
        Stage("full", demonstrations, 6, 0.6),
    ]
