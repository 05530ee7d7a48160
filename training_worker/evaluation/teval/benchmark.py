"""T-Eval as a benchmark: one answer per prompt, scored by its rules, which are reimplemented here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from types import TracebackType

from ...chat.protocol import ChatModel, ScriptedModel
from ...core.trajectory import Json, Message, Rollout
from ...environment.episode import printable
from ..protocol import Item, OutOfRoom, Policy, Result
from . import instruct, plan, review, step
from .embedding import Embedding
from .entries import CATEGORIES, DIMENSIONS, EMBEDDED, Entry, suite_in
from .parser import Unreadable, answer_in
from .score import Rules, Verdict, build_malformed_verdict

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
    """A policy's answer to a prompt, None until it is given, and the tokens it used."""

    lock: Lock = field(default_factory=Lock)
    text: str | None = None
    tokens: int = 0


class Teval:
    """T-Eval, with an embedding model's process where its files need one. Use it as a context manager."""

    name, categories, groups = "teval", CATEGORIES, DIMENSIONS

    def __init__(self, data: Path, embedding: Path):
        """Load the suite. Raises NotInstalled for missing data or a missing model, and UnreadableData."""
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

    def iter_user_texts(self) -> Iterator[tuple[str, str]]:
        """Yield the user's texts in the prompts, each with its entry's id."""
        for entry in self.suite.entries.values():
            yield from ((entry.id, said.content) for said in entry.prompt if said.role == "user")

    def attempt(self, item: Item, policy: Policy) -> Result:
        """Run and score an entry. Raises NotRun."""
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
        """Return the shared answer to a prompt: T-Eval scores one answer as thought, tool and arguments."""
        if not entry.answer_key:
            return Answer()
        with self.lock:
            return self.answers.setdefault((policy.speak, entry.answer_key, trial), Answer())

    def fill(self, answer: Answer, policy: Policy, entry: Entry, item: Item) -> None:
        """Request the answer if it is missing. Tools are not sent: the prompts describe them.

        Raises NotRun and OutOfRoom.
        """
        if answer.text is None:
            model = policy.speak(item)
            answer.text = printable(model.reply(entry.prompt, []))
            answer.tokens = int(getattr(model, "tokens", 0))

    def score(self, entry: Entry, text: str) -> Verdict:
        """Score an answer by the rules of the entry's dimension. Raises NotRun."""
        try:
            return RULES[entry.dimension].score(entry, answer_in(text), self.cosines)
        except Unreadable as reason:
            return build_malformed_verdict(str(reason))

    def cosines(self, left: Sequence[str], right: Sequence[str]) -> list[list[float]]:
        assert self.embedding, "only categories that need it call this"
        return self.embedding.cosines(left, right)

    def oracle(self, item: Item) -> ChatModel:
        """Return a model that answers with the ground truth in the format of the prompt."""
        entry = self.suite.entries[item.task]
        return ScriptedModel([RULES[entry.dimension].format_truth(entry)])


def rollout_of(entry: Entry, answer: Answer) -> Rollout:
    """Return the prompt and its answer as a rollout without a reward, so that pages show it like any other."""
    said = () if answer.text is None else (Message("assistant", answer.text),)
    return Rollout(example=entry.id, transcript=(*entry.prompt, *said), calls=(), end="answered", reward=None)
