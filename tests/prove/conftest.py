"""The fixtures that the tests of PROVE share: one graph, and conversations of both splits, made once per run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest

from mcp_servers.catalogue import fingerprint
from tests.prove.known import SERVERS, known_examples, known_graph
from training_worker.core.trajectory import Example, ToolCall
from training_worker.datasets import dataset_folder
from training_worker.datasets.manifest import DrawCounts


@pytest.fixture(scope="session")
def graph() -> nx.DiGraph:
    return known_graph()


@pytest.fixture(scope="session")
def graphs(graph_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of graphs that has the graph of all servers."""
    folder = tmp_path_factory.mktemp("graphs")
    for file in graph_folder.glob("graph-*.json"):
        (folder / file.name).symlink_to(file)
    return folder


@pytest.fixture(scope="session")
def examples() -> tuple[Example, ...]:
    """Training examples of 120 indices: every kind, every tool."""
    return known_examples(120)


@pytest.fixture(scope="session")
def held_out() -> tuple[Example, ...]:
    return known_examples(60, "held_out")


@pytest.fixture
def data_set(examples: tuple[Example, ...], held_out: tuple[Example, ...], tmp_path: Path) -> Path:
    """A folder with a data set of a few of them."""
    sides = {"train": list(examples[:40]), "held_out": list(held_out[:8])}
    made = tmp_path / "some"
    drawn = DrawCounts(drawn=50, dropped={"StepRefused: transfer_money": 2})
    dataset_folder.write(made, "some", {}, 0, fingerprint(SERVERS), lambda split: (sides[split], drawn), "programmatic")
    return made


@pytest.fixture(scope="session")
def chains(examples: tuple[Example, ...]) -> list[Example]:
    """The examples with something to do."""
    return [example for example in examples if not example.abstains]


@pytest.fixture(scope="session")
def two_turns(chains: list[Example]) -> Example:
    """A conversation in which the user speaks twice."""
    return next(example for example in chains if len(example.turns) == 2)


@pytest.fixture(scope="session")
def abstention(examples: tuple[Example, ...]) -> Example:
    return next(example for example in examples if example.abstains)


@pytest.fixture(scope="session")
def calls_of() -> Callable[[Example], list[ToolCall]]:
    """A function that returns all ground-truth calls of an example, in order."""
    return lambda example: [call for step in example.steps for call in step.calls]
