"""Language-model teacher, which words a proven conversation text by text under checks.

Plan, calls and observations are the programmatic teacher's, and so is each text until one of the model's passes its
check. A text that fails is requested again with the reason; after the last try the scripted text remains, and the
example records it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from ..core.trajectory import Act, Example, Level, Message
from ..endpoint import Endpoint, TooLong
from ..endpoint.structured_output import TRIES, Answer, request_json
from .wording_checks import Check, RewrittenText

MODEL = "model"  # in `Example.wording`, for a text of the model
MAX_OBSERVATION = 4_000  # characters of an observation in the prompt

FORM = """Keep every text that is listed, letter by letter and in the order of the list. Add no number, name, day,
amount or id of your own, and deny nothing that the draft does not deny. Never write the name of a tool or a field, such
as account_id.
Answer with JSON only: {"text": "..."}"""
USER = f"""You write what a user says to an assistant that has tools, as a person would say it. You get a draft that
sounds like a template. Write the turn in words of your own, and ask for exactly the things that the draft asks for, in
the same order, with the same conditions. Do not answer it.
{FORM}"""
ASSISTANT = f"""You write what an assistant says to a user when its tools have answered. You get a draft that sounds
like a template. Say the same in words of your own; all of it must be true by the user's words and the tools' replies.
{FORM}"""
LEVELS: dict[Level, str] = {
    "complete": "The user may say why they ask.",
    "missing": "The user may say why they ask.",
    "minimal": "The user says as little as possible and gives no reason.",
}
USER_ACTS: dict[Act, str] = {
    "ask": "What the draft leaves open stays open: the assistant will ask for it.",
    "answer": "The user wishes for nothing more.",
}
ASSISTANT_ACTS: dict[Act, str] = {
    "ask": "The text ends with the question of the draft.",
    "decline": "The text says that this cannot be done, and why.",
}


def write_texts(example: Example, endpoint: Endpoint, tries: int = TRIES) -> Example:
    """Return the example with its user turns and assistant texts in the model's words, as far as they pass.

    `wording` says for each text whether it is the model's, or why the scripted one remains. An imported example is
    returned unchanged. Raises EndpointFailed.
    """
    if example.source:
        return example
    wording = []
    for turn in range(len(example.turns)):
        example, outcome = write(Check(example, turn), endpoint, tries)
        wording.append(f"user: {outcome}")
        if turn < len(example.answers):
            example, outcome = write(Check(example, turn, "assistant"), endpoint, tries)
            wording.append(f"assistant: {outcome}")
    return replace(example, wording=tuple(wording))


def write(check: Check, endpoint: Endpoint, tries: int) -> tuple[Example, str]:
    """Return the example with one text in the model's words, or unchanged with a short reason."""
    try:
        answer = request_json(endpoint, request(check), RewrittenText, check.fault, tries)
    except TooLong:
        answer = Answer[RewrittenText](None, "more than the model reads")
    if answer.value is None:
        return check.example, answer.why.split(":")[0]
    return check.substitute_text(answer.value.text), MODEL


def request(check: Check) -> tuple[Message, ...]:
    """Return the prompt for a text: its speaker, the conversation so far, the tools' replies, and the draft."""
    own = user_facts(check) if check.speaker == "user" else assistant_facts(check)
    keep = json.dumps(check.values, ensure_ascii=False)
    lines = [*said_before(check), *own, f"Texts to keep: {keep}", f"Draft: {check.old}"]
    return Message("system", USER if check.speaker == "user" else ASSISTANT), Message("user", "\n".join(lines))


def said_before(check: Check) -> Iterator[str]:
    for turn, answer in zip(check.example.turns[: check.turn], check.example.answers, strict=False):
        yield f"The user said before: {turn}"
        yield f"The assistant answered: {answer}"


def user_facts(check: Check) -> Iterator[str]:
    example = check.example
    if example.persona:
        yield f"Manner of the user: {example.persona}"
    yield LEVELS[example.level]
    if check.act in USER_ACTS:
        yield USER_ACTS[check.act]


def assistant_facts(check: Check) -> Iterator[str]:
    example = check.example
    yield f"The user says: {example.turns[check.turn]}"
    for step in example.steps:
        if step.turn == check.turn:
            yield from (f"A tool replied: {text[:MAX_OBSERVATION]}" for text in step.observations)
    for failure in example.failures:
        if failure.turn == check.turn:
            yield f"A tool refused: {failure.observation[:MAX_OBSERVATION]}"
    if check.act in ASSISTANT_ACTS:
        yield ASSISTANT_ACTS[check.act]
