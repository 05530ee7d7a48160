"""BFCL's conversations as examples for dataset metrics: the ground-truth calls and their observations."""

from __future__ import annotations

from ...core.trajectory import Example, ForeignTool, Step, WorldRef
from ..protocol import Policy
from .benchmark import Bfcl
from .entries import Entry
from .tools import tool_of


def base_examples(bfcl: Bfcl) -> list[Example]:
    """Return the conversations of the category base. Each call is a step: BFCL does not say which are parallel.

    Their assistants say nothing, and the dependencies between steps are unknown. Raises NotRun.
    """
    oracle = Policy(model="ground truth", speak=bfcl.oracle)
    found = []
    for item in bfcl.items():
        if item.category == "base":
            rollout = bfcl.attempt(item, oracle).rollout
            assert rollout is not None
            found.append(example_of(bfcl, bfcl.suite.entries[item.task], [one.observation for one in rollout.calls]))
    return found


def example_of(bfcl: Bfcl, entry: Entry, observations: list[str]) -> Example:
    """Return an entry as an example; `observations` are those of all its calls."""
    calls = [(turn, call) for turn, made in enumerate(entry.truth) for call in made]
    functions = [tool_of(one)["function"] for one in bfcl.suite.list_initial_functions(entry)]
    return Example(
        id=entry.id,
        kind="chain",
        split="held_out",
        world=WorldRef(0, ()),
        turns=tuple("\n".join(words) for words in entry.turns),
        steps=tuple(Step((call,), turn, (text,)) for (turn, call), text in zip(calls, observations, strict=True)),
        edges=(),
        candidates=tuple(one["name"] for one in functions),
        answers=("",) * len(entry.turns),
        digests=("",),
        fingerprint="",
        source="bfcl",
        tools=tuple(ForeignTool(one["name"], one["description"], one["parameters"]) for one in functions),
    )
