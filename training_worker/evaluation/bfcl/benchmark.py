"""BFCL multi-turn as a benchmark: 4 categories of 200 conversations, judged by its own checker."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from types import TracebackType

from ...chat.protocol import ChatModel, ScriptedModel, write_calls
from ...core.trajectory import End, Rollout
from ..confined.process_pool import Children
from ..protocol import Item, NotRun, OutOfRoom, Policy, Result
from .child import SECONDS, Child, ChildFailed, LimitReached
from .conversation import Conversation, as_pairs
from .entries import suite_of

CATEGORIES = ("base", "miss_func", "miss_param", "long_context")


class Bfcl:
    """BFCL multi-turn, with one process per running conversation. Use it as a context manager.

    Every run of an entry has its own name: BFCL stores its instances by name and continues those that it knows.
    """

    name, categories = "bfcl", CATEGORIES

    def __init__(self, python: Path, seconds: float = SECONDS):
        """Load the suite. `python` is the interpreter of BFCL's environment; a step or a verdict may take `seconds`.

        Raises ChildFailed when the interpreter cannot be used.
        """
        self.numbers = count(1)
        self.children = Children(lambda: Child(python, seconds))
        with self.children.borrow_process() as child:
            self.suite = suite_of(child.call({"do": "items"}))
        self.version = self.suite.version

    def __enter__(self) -> Bfcl:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.children.close()

    def items(self) -> Sequence[Item]:
        return [Item(entry.id, entry.category) for entry in self.suite.entries.values()]

    def attempt(self, item: Item, policy: Policy) -> Result:
        """Run and judge an entry. Raises NotRun."""
        began, model = time.monotonic(), policy.speak(item)
        try:
            with self.children.borrow_process() as child:
                entry, run = self.suite.entries[item.task], f"run{next(self.numbers)}"
                talk = Conversation(entry, self.suite, policy, model, child, run)
                passed, failure, why = verdict_on(talk)
        except LimitReached as reason:
            passed, failure, why = False, "execution_limit", str(reason)
        except ChildFailed as reason:
            raise NotRun(str(reason)) from None
        return Result(
            item=item.id,
            category=item.category,
            passed=passed,
            failure=failure,
            why=why,
            rollout=rollout_of(talk),
            steps=talk.requests,
            tokens=int(getattr(model, "tokens", 0)),
            seconds=time.monotonic() - began,
        )

    def iter_user_texts(self) -> Iterator[tuple[str, str]]:
        """Yield the user's texts, each with its entry's id."""
        for entry in self.suite.entries.values():
            yield from ((entry.id, text) for words in entry.turns for text in words)

    def oracle(self, item: Item) -> ChatModel:
        """Return a model that makes the ground-truth calls of a turn in one step and then ends it; Hermes style."""
        truth = self.suite.entries[item.task].truth
        return ScriptedModel(text for turn in truth for text in ([write_calls(turn), ""] if turn else [""]))


def verdict_on(talk: Conversation) -> tuple[bool, str, str]:
    """Run the conversation and judge it: whether it passed, the kind of failure, and the checker's message.

    BFCL fails a conversation that ended before its last turn without checking it.
    """
    about = {"id": talk.entry.id, "run": talk.run}
    try:
        talk.play()
    except OutOfRoom as reason:
        talk.child.call({"do": "forget", **about})
        return False, "context_limit", str(reason)
    if len(talk.turns) < len(talk.entry.turns):
        talk.child.call({"do": "forget", **about})
        return False, "step_limit", ""
    turns = [[as_pairs(step) for step in turn] for turn in talk.turns]
    verdict = talk.child.call({"do": "check", **about, "turns": turns})
    if verdict["valid"]:
        return True, "", ""
    kind = str(verdict["error_type"]).removeprefix("multi_turn:")
    kind = "step_limit" if talk.forced else "malformed_call" if talk.malformed else kind
    return False, kind, str(verdict["error_message"])[:500]


def rollout_of(talk: Conversation) -> Rollout:
    """Return the conversation as a rollout without a reward, so that pages show it like any other."""
    end: End = "assistant_turns" if talk.forced else "answered"
    return Rollout(
        example=talk.entry.id,
        transcript=tuple(talk.messages),
        calls=tuple(talk.calls),
        end=end,
        reward=None,
    )
