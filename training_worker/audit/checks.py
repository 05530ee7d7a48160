"""The checks of an audit. Expected values come only from the chat template, rendered as a whole at every point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from jinja2 import TemplateError
from transformers import PreTrainedTokenizerFast

from ..core.trajectory import Message
from ..policy import conversation as assembled
from ..policy.conversation import EncodedConversation, encode, render
from ..policy.model_families import Chat, Family, chat_of, family_of
from .conversations import ANSWER, BALANCE, CONTROL, FIND, Conversation, conversations, user, without_control
from .difference import difference

Tokenizer = PreTrainedTokenizerFast


@dataclass(frozen=True)
class Assembly:
    """The functions under audit, which turn conversations into ids. Tests replace them with broken ones."""

    prompt: Callable[..., list[int]] = assembled.prompt_ids
    glue: Callable[..., list[int]] = assembled.glue_ids
    join: Callable[..., EncodedConversation] = assembled.join
    demonstration: Callable[..., EncodedConversation] = assembled.encode_demonstration


@dataclass(frozen=True)
class Check:
    """One property of the assembly and, if it does not hold, a description of the first difference."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True)
class Verdict:
    """The result of an audit. `template` says whose chat template renders the conversations."""

    family: str
    template: str = ""
    checks: tuple[Check, ...] = field(default=())

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)

    def as_json(self) -> dict[str, Any]:
        return {"ok": self.ok, **asdict(self)}


@dataclass(frozen=True)
class Case:
    """The input of every check: the tokenizer, its family, the assembly, and the conversations."""

    tokenizer: Tokenizer
    family: Family
    chat: Chat
    assembly: Assembly
    conversations: Sequence[Conversation]

    def ids(self, text: str) -> list[int]:
        return encode(self.tokenizer, text)

    def text(self, conversation: Conversation, messages: int | None = None, generate: bool = False) -> str:
        """Return the template's text of the conversation, or of its first messages."""
        return render(self.tokenizer, conversation.messages[:messages], conversation.tools, generate)

    def spans(self, conversation: Conversation) -> list[tuple[int, int]]:
        """Return where the assistant speaks in the whole text, end token included, as the template places it."""
        found = []
        for at, message in enumerate(conversation.messages):
            if message.role == "assistant":
                start = len(self.text(conversation, at, generate=True))
                found.append((start, self.end_of(self.text(conversation, at + 1))))
        return found

    def end_of(self, text: str) -> int:
        return text.rindex(self.chat.end) + len(self.chat.end)


def audit(tokenizer: Tokenizer, assembly: Assembly | None = None) -> Verdict:
    """Run every check that needs no weights. Raises UnknownFamily."""
    family, chat = family_of(tokenizer), chat_of(tokenizer)
    case = Case(tokenizer, family, chat, assembly or Assembly(), conversations(family.format))
    made = (calls, verbatim, glue, rendering, mask, control)
    checks = tuple(
        Check(check.__name__, not found, found or (check.__doc__ or "").splitlines()[0])
        for check in made
        for found in [check(case)]
    )
    return Verdict(family.name, chat.pinned or "the model's own", checks)


def find_first_fault(details: Iterable[tuple[str, str]]) -> str:
    """Return the first conversation in which something is wrong, and what; empty if all is well."""
    return next((f"{name}: {detail}" for name, detail in details if detail), "")


def calls(case: Case) -> str:
    """Calls written in the format equal what the template writes for the same calls given as data."""
    for made in ([FIND], [BALANCE, FIND]):
        written = case.family.format.write(made)
        if list(case.family.format.parse(written)) != made:
            return f"the written calls are not parsed back unchanged: {written}"
        data = [{"type": "function", "function": {"name": one.name, "arguments": one.arguments}} for one in made]
        answers = [{"role": "tool", "content": ANSWER}] * len(made)
        said: list[Any] = [
            {"role": "user", "content": "?"},
            {"role": "assistant", "content": "", "tool_calls": data},
            *answers,
        ]
        try:
            text = case.tokenizer.apply_chat_template(
                said, chat_template=case.chat.template, tokenize=False, **case.chat.options
            )
        except TemplateError:  # a template may take one call per turn as data, and several as text
            continue
        ours = [user("?"), Message("assistant", written), *(Message("tool", ANSWER) for _ in made)]
        if found := difference(
            case.tokenizer, case.ids(str(text)), case.ids(render(case.tokenizer, ours, generate=False))
        ):
            return found
    return ""


def verbatim(case: Case) -> str:
    """The policy's output stays unchanged, token for token, however it was tokenized."""

    def find_verbatim_fault(conversation: Conversation) -> str:
        spans, turns = [], []
        for between, message in assembled.turns_of(conversation.rest):
            letters = [id for letter in message.content for id in case.ids(letter)]
            spans.append([*letters, case.family.end])
            turns.append((case.assembly.glue(case.tokenizer, between) if between else [], spans[-1]))
        made = case.assembly.join(case.assembly.prompt(case.tokenizer, conversation.opening, conversation.tools), turns)
        ids = [id for id, mine in zip(made.ids, made.mask, strict=True) if mine]
        return difference(case.tokenizer, [id for span in spans for id in span], ids, "the policy said")

    return find_first_fault(
        (conversation.name, find_verbatim_fault(conversation)) for conversation in case.conversations
    )


def glue(case: Case) -> str:
    """The text between two turns of the policy is exactly what the template writes there."""

    def find_glue_fault(conversation: Conversation, at: int, between: list[Message]) -> str:
        before = case.text(conversation, at)
        spoken = before[: case.end_of(before)]
        after = case.text(conversation, at + len(between), generate=True)
        if not after.startswith(spoken):
            return f"the template renders message {at} differently once others follow it"
        return difference(case.tokenizer, case.ids(after[len(spoken) :]), case.assembly.glue(case.tokenizer, between))

    def all_of(conversation: Conversation) -> Iterator[tuple[str, str]]:
        at = len(conversation.opening)
        for between, _ in assembled.turns_of(conversation.rest):
            if between:
                yield f"{conversation.name}, after message {at}", find_glue_fault(conversation, at, between)
            at += len(between) + 1

    return find_first_fault(found for conversation in case.conversations for found in all_of(conversation))


def rendering(case: Case) -> str:
    """A conversation of canonical turns, concatenated, equals the template's rendering of the whole."""

    def find_rendering_fault(conversation: Conversation) -> str:
        text = case.text(conversation)
        expected = case.ids(text[: case.end_of(text)])
        return difference(case.tokenizer, expected, assemble_demonstration(case, conversation).ids)

    return find_first_fault(
        (conversation.name, find_rendering_fault(conversation)) for conversation in case.conversations
    )


def mask(case: Case) -> str:
    """The mask covers the policy's tokens and the ones that end its turns, and no others."""

    def find_mask_fault(conversation: Conversation) -> str:
        text, spans = case.text(conversation), case.spans(conversation)
        cut = case.tokenizer(text[: case.end_of(text)], add_special_tokens=False, return_offsets_mapping=True)
        expected = [int(any(start <= at < end for start, end in spans)) for at, _ in cut["offset_mapping"]]
        found, ids = list(assemble_demonstration(case, conversation).mask), cut["input_ids"]
        if expected == found:
            return ""
        at = next(
            (i for i, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b), min(len(ids), len(found))
        )
        owner = "the policy" if expected[at : at + 1] == [1] else "another speaker"
        return (
            f"token {at + 1}, {case.tokenizer.decode(ids[at : at + 1])!r}, was said by {owner}; the mask says otherwise"
        )

    return find_first_fault((conversation.name, find_mask_fault(conversation)) for conversation in case.conversations)


def control(case: Case) -> str:
    """No text of a user, a tool, a schema or a demonstration becomes a control token."""
    special = {id for id, token in case.tokenizer.added_tokens_decoder.items() if token.special}
    special |= {ids[0] for text in CONTROL if len(ids := case.ids(text)) == 1}

    def find_control_fault(conversation: Conversation) -> str:
        plain, seen = (
            [id for id in assemble_demonstration(case, version).ids if id in special]
            for version in (without_control(conversation), conversation)
        )
        return difference(case.tokenizer, plain, seen)

    return find_first_fault(
        (conversation.name, find_control_fault(conversation)) for conversation in case.conversations
    )


def assemble_demonstration(case: Case, conversation: Conversation) -> EncodedConversation:
    return case.assembly.demonstration(case.tokenizer, conversation.opening, conversation.rest, conversation.tools)
