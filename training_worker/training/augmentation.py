"""Data augmentation that replaces the names and texts in a conversation, so that a policy has to copy them.

A small policy memorises the few hundred titles, texts and names of its training worlds instead of copying them. If each
conversation has its own meaningless words, there is nothing to memorise. Only training uses such conversations: their
worlds do not contain these values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ..core.trajectory import Example, Step, ToolCall
from .rationale import list_names, strings

WORD = re.compile(r"[^\W\d_]{3,}")
Pick = Callable[[Sequence[str]], str]


def find_copied_texts(example: Example) -> list[str]:
    """Return the addresses, texts and names that the user says and that a call repeats or refers to."""
    said = "\n".join(example.turns)
    spoken = [text for step in example.steps for call in step.calls for text in strings(call.arguments)]
    texts = [text for text in spoken if "@" in text or len(text.split()) > 1]
    return [text for text in dict.fromkeys([*texts, *list_names(example)]) if text in said and WORD.search(text)]


def word_pool(examples: Iterable[Example]) -> dict[bool, list[str]]:
    """Return the distinct words of all copied texts, by whether they begin with a capital."""
    found = dict.fromkeys(word for one in examples for text in find_copied_texts(one) for word in WORD.findall(text))
    return {capital: [word for word in found if word[0].isupper() == capital] for capital in (False, True)}


def reword(example: Example, pool: dict[bool, list[str]], pick: Pick) -> Example:
    """Return the conversation with every copied text replaced by other words, the same ones at each occurrence."""
    texts = sorted(find_copied_texts(example), key=lambda text: (-len(text), text))
    if not texts or not all(pool.values()):
        return example
    others: dict[str, str] = {}

    def pick_replacement(word: str) -> str:
        return others.setdefault(word, pick(pool[word[0].isupper()]))

    new = {text: reword_text(text, pick_replacement) for text in texts}
    pattern = re.compile(rf'(?<!\w)(?:{"|".join(map(re.escape, texts))})(?!\w|":)')

    def change(text: str) -> str:
        return pattern.sub(lambda found: new[found[0]], text)

    def change_call(call: ToolCall) -> ToolCall:
        return replace(call, arguments=json.loads(change(json.dumps(call.arguments, ensure_ascii=False))))

    steps = tuple(
        Step(tuple(map(change_call, step.calls)), step.turn, tuple(map(change, step.observations)))
        for step in example.steps
    )
    turns, answers = tuple(map(change, example.turns)), tuple(map(change, example.answers))
    return replace(example, turns=turns, steps=steps, answers=answers)


def reword_text(text: str, other: Callable[[str], str]) -> str:
    """Return a text with its words replaced; an e-mail address keeps its domain."""
    local, at, domain = text.partition("@")
    return WORD.sub(lambda found: other(found[0]), local) + at + domain
