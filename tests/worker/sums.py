"""A benchmark of sums, and a job's child that knows it: `python -m tests.worker.sums FOLDER --attempt N`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext

from training_worker.chat.protocol import ChatModel, ScriptedModel
from training_worker.core.trajectory import Message, Rollout
from training_worker.evaluation.protocol import Item, Policy, Result
from training_worker.evaluation.registry import KNOWN, BenchmarkSpec
from training_worker.jobs.__main__ import main

ITEMS = 12


class Sums:
    """Passed by who says the sum."""

    name, version, categories = "sums", "1", ("even", "odd")

    def items(self) -> Sequence[Item]:
        return [Item(f"{n}+{n + extra}", kind) for extra, kind in enumerate(self.categories) for n in range(ITEMS // 2)]

    def attempt(self, item: Item, policy: Policy) -> Result:
        said = policy.speak(item).reply([Message("user", item.task)], [])
        passed = said == answer(item.task)
        return Result(
            item=item.id,
            category=item.category,
            passed=passed,
            failure="" if passed else "wrong_sum",
            rollout=Rollout(
                example=item.id, transcript=(Message("assistant", said),), calls=(), end="answered", reward=None
            ),
            steps=1,
            tokens=10,
        )

    def oracle(self, item: Item) -> ChatModel:
        return ScriptedModel([answer(item.task)])


def answer(sum: str) -> str:
    first, second = sum.split("+")
    return str(int(first) + int(second))


SUMS = BenchmarkSpec(
    name="sums",
    title="Sums",
    about="Sums of small numbers.",
    categories=Sums.categories,
    opens=lambda root, options: nullcontext(Sums()),
)

if __name__ == "__main__":
    KNOWN[SUMS.name] = SUMS
    sys.exit(main())
