"""tau2-bench as a benchmark: customer service with a simulated user in three domains, judged by its own evaluator."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

from ...chat.protocol import ChatModel, ScriptedModel
from ...core.trajectory import Json
from ...endpoint import Endpoint, EndpointFailed
from ..confined.process_pool import Children
from ..confined.rpc_client import Child, ChildFailed, LimitReached
from ..protocol import Item, NotKnown, NotRun, Policy, Result
from .conversation import Conversation, Part
from .scorer import rollout_of, verdict
from .suite import CATEGORIES, script, suite_of
from .user import MISSING, TEMPERATURE, SimulatedUser

RUNNER = "training_worker.evaluation.tau2.inside.runner"
SECONDS = 60.0  # per answer's calls, and per verdict


class Tau2:
    """tau2-bench, with one process per running conversation. Use it as a context manager.

    `user` plays the users; without it, only the oracle and the silent policy can run, whose users are scripted.
    """

    name, categories = "tau2", CATEGORIES

    def __init__(self, python: Path, user: Endpoint | None = None, split: str = "base"):
        """Load the suite. `python` is the interpreter of tau2's environment. Raises ChildFailed if it is unusable."""
        self.user, self.split = user, split
        self.children = Children(lambda: Child("tau2", RUNNER, python, SECONDS))
        with self.children.borrow_process() as child:
            self.suite = suite_of(child.call({"do": "items", "split": split}))
        self.version = self.suite.version

    @property
    def settings(self) -> dict[str, Json]:
        """What a score depends on besides the version: the user's model and prompt, and the split of the tasks."""
        return {
            "user": self.user.settings.model if self.user else "",
            "user_temperature": TEMPERATURE,
            "user_prompt": self.suite.prompt,
            "split": self.split,
        }

    def __enter__(self) -> Tau2:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.children.close()

    def items(self) -> Sequence[Item]:
        return [Item(task.item, task.domain) for task in self.suite.tasks.values()]

    def iter_user_texts(self) -> Iterator[tuple[str, str]]:
        """Yield the users' instructions, each with its task's item id."""
        yield from ((task.item, task.user) for task in self.suite.tasks.values())

    def require(self, policy: Policy) -> None:
        """Raise NotKnown for an unsupported style, and EndpointFailed where a simulated user is needed but missing."""
        if policy.style != "tools":
            raise NotKnown("tau2-bench has no text notation for calls: it supports only the style tools.")
        if policy.kind == "model" and self.user is None:
            raise EndpointFailed(MISSING)

    def attempt(self, item: Item, policy: Policy) -> Result:
        """Run and score a task. Raises NotRun, and what `require` raises."""
        self.require(policy)
        began, task, model = time.monotonic(), self.suite.tasks[item.task], policy.speak(item)
        talk = Conversation(Part(model, policy.format), Part(self.user_for(item, policy)))
        try:
            with self.children.borrow_process() as child:
                outcome = child.call({"do": "run", "domain": task.domain, "number": task.number}, talk.reply)
        except (ChildFailed, LimitReached) as reason:
            raise NotRun(f"tau2's process: {reason}") from None
        failure, why = verdict(talk, outcome)
        return Result(
            item=item.id,
            category=item.category,
            passed=not failure,
            failure=failure,
            why=why,
            rollout=rollout_of(task, talk, outcome),
            steps=len(talk.agent.texts) + (talk.agent.refused is not None),
            tokens=int(getattr(model, "tokens", 0)),
            seconds=time.monotonic() - began,
        )

    def user_for(self, item: Item, policy: Policy) -> ChatModel:
        """Return the user's model: for the oracle a scripted one, for the silent policy one that stops immediately."""
        match policy.kind:
            case "silent":
                return ScriptedModel([self.suite.stop])
            case "oracle":
                return ScriptedModel(script(self.suite.tasks[item.task], self.suite.stop)[1])
        assert self.user, "`require` checks this"
        return SimulatedUser(self.user, item.trial)

    def oracle(self, item: Item) -> ChatModel:
        """Return a model that makes the ground-truth calls and gives the required information; Hermes style."""
        return ScriptedModel(script(self.suite.tasks[item.task], self.suite.stop)[0])
