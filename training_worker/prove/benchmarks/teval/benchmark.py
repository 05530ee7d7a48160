"""T-Eval as a benchmark: one answer to each prompt of its files, scored by its rules, which are written anew here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from types import TracebackType

from ...chat import ChatModel, Scripted
from ...rollout import printable
from ...trajectory import Json, Message, Rollout
from ..protocol import Item, OutOfRoom, Policy, Result
from . import instruct, plan, review, step
from .embedding import Embedding
from .entries import CATEGORIES, DIMENSIONS, EMBEDDED, Entry, suite_in
from .parser import Unreadable, answer_in
from .score import Rules, Verdict, malformed

RULES: dict[str, Rules] = {
    "instruct": instruct,
    "plan": plan,
    "reason": step,
    "retrieve": step,
    "understand": step,
    "review": review,
}


@dataclass
class Answer:
    """What a policy answered to a prompt, None while it has not; `tokens` is what that took."""

    lock: Lock = field(default_factory=Lock)
    text: str | None = None
    tokens: int = 0


class Teval:
    """The benchmark, with the process of an embedding model where its files need one; use it in a `with`."""

    name, categories, groups = "teval", CATEGORIES, DIMENSIONS

    def __init__(self, data: Path, embedding: Path):
        """Raises NotInstalled where the data or the model is missing, and UnreadableData for what is neither."""
        self.suite = suite_in(data)
        self.version, self.absent = self.suite.version, self.suite.absent
        needed = any(entry.category in EMBEDDED for entry in self.suite.entries.values())
        self.embedding = Embedding(embedding) if needed else None
        self.settings: Mapping[str, Json] = {"embedding": self.embedding.digest} if self.embedding else {}
        self.answers: dict[tuple[Callable[[Item], ChatModel], str, int], Answer] = {}
        self.lock = Lock()

    def __enter__(self) -> Teval:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.embedding:
            self.embedding.close()

    def items(self) -> Sequence[Item]:
        return [Item(entry.id, entry.category) for entry in self.suite.entries.values()]

    def texts(self) -> Iterator[tuple[str, str]]:
        """What the user says in the prompts: an entry's id and each text."""
        for entry in self.suite.entries.values():
            yield from ((entry.id, said.content) for said in entry.prompt if said.role == "user")

    def attempt(self, item: Item, policy: Policy) -> Result:
        """Raises NotRun."""
        began, entry = time.monotonic(), self.suite.entries[item.task]
        answer = self.answer_of(policy, entry, item.trial)
        try:
            with answer.lock:
                self.fill(answer, policy, entry, item)
            found = self.score(entry, answer.text or "")
        except OutOfRoom as reason:
            found = Verdict(0.0, "context_limit", str(reason))
        return Result(
            item=item.id,
            category=item.category,
            passed=found.passed,
            failure=found.failure,
            why=found.why,
            score=found.score,
            rollout=rollout_of(entry, answer),
            steps=1,
            tokens=answer.tokens,
            seconds=time.monotonic() - began,
        )

    def answer_of(self, policy: Policy, entry: Entry, trial: int) -> Answer:
        """Where the answer to a prompt is kept: T-Eval scores one answer as thought, tool and arguments."""
        if not entry.asked:
            return Answer()
        with self.lock:
            return self.answers.setdefault((policy.speak, entry.asked, trial), Answer())

    def fill(self, answer: Answer, policy: Policy, entry: Entry, item: Item) -> None:
        """Unless it was asked before. No tools are sent: the prompts describe them. Raises NotRun and OutOfRoom."""
        if answer.text is None:
            model = policy.speak(item)
            answer.text = printable(model.reply(entry.prompt, []))
            answer.tokens = int(getattr(model, "tokens", 0))

    def score(self, entry: Entry, text: str) -> Verdict:
        """Raises NotRun."""
        try:
            return RULES[entry.dimension].score(entry, answer_in(text), self.cosines)
        except Unreadable as reason:
            return malformed(str(reason))

    def cosines(self, left: Sequence[str], right: Sequence[str]) -> list[list[float]]:
        assert self.embedding, "no category that needs it is there"
        return self.embedding.cosines(left, right)

    def oracle(self, item: Item) -> ChatModel:
        """Says the ground truth in the format of the prompt."""
        entry = self.suite.entries[item.task]
        return Scripted([RULES[entry.dimension].format_truth(entry)])


def rollout_of(entry: Entry, answer: Answer) -> Rollout:
    """The prompt and its answer as a rollout without a reward, so that it is shown like any other."""
    said = () if answer.text is None else (Message("assistant", answer.text),)
    return Rollout(example=entry.id, transcript=(*entry.prompt, *said), calls=(), end="answered", reward=None)
