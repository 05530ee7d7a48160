"""Data sets by recipe: exactly what the recipe says, the same bytes each time, and a replay that detects changes."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest

from mcp_servers.catalogue import TOOLS, fingerprint
from mcp_servers.world import World
from tests.prove.known import graph_of
from training_worker.core.trajectory import Example, ExecutedCall, dumps, read_lines
from training_worker.dataflow.leakage import identifiers
from training_worker.datasets import dataset_folder, recipes
from training_worker.datasets.importers import formats
from training_worker.datasets.manifest import content_digest
from training_worker.datasets.replay import verify
from training_worker.environment.episode import oracle
from training_worker.reward import score
from training_worker.synthesis.dataset import ENOUGH, FOR_EACH, CannotBeMet, assemble, interleave_tasks, rare

SOME = ("banking", "vehicle")
SMALL = replace(
    recipes.PLANS["100"],
    train=recipes.by_kind((30, 5, 3)),
    held_out=recipes.by_kind((10, 1, 1)),
)


@pytest.fixture(scope="module")
def graph() -> nx.DiGraph:
    return graph_of(*SOME)


@pytest.fixture(scope="module")
def made(graph: nx.DiGraph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("set")
    dataset_folder.make(SMALL, path, graph, lambda split: lambda done, total: None, processes=1)
    return path


@pytest.fixture(scope="module")
def train(made: Path) -> list[Example]:
    return list(read_lines(Example, made / "train.jsonl"))


@pytest.fixture(scope="module")
def held_out(made: Path) -> list[Example]:
    return list(read_lines(Example, made / "held_out.jsonl"))


@pytest.mark.long
def test_there_are_exactly_as_many_of_each_kind_as_the_recipe_asks_for(made: Path, train: list[Example]) -> None:
    assert Counter(example.kind for example in train) == SMALL.train
    manifest = dataset_folder.read(made)
    assert manifest.splits["train"].kinds == dict(SMALL.train)
    assert manifest.splits["train"].conversations == 38 and manifest.splits["held_out"].conversations == 12


def test_the_paper_has_13_517() -> None:
    assert sum(recipes.PLANS["prove-13k"].train.values()) == 10_895 + 1_500 + 1_122 == 13_517


@pytest.mark.long
def test_two_processes_make_the_same_bytes(made: Path, graph: nx.DiGraph, tmp_path: Path) -> None:
    dataset_folder.make(SMALL, tmp_path, graph, lambda split: lambda done, total: None, processes=2)
    for name in ("train.jsonl", "held_out.jsonl", "manifest.json"):
        assert (tmp_path / name).read_bytes() == (made / name).read_bytes()


def test_the_splits_share_no_world_and_no_name(train: list[Example], held_out: list[Example]) -> None:
    assert len({example.world.seed for example in train}) <= SMALL.recipe.worlds
    assert len({example.world.seed for example in held_out}) <= SMALL.recipe.held_out_worlds
    assert identifiers(train) & identifiers(held_out) == set()


def test_entire_servers_can_be_held_out_of_training(graph: nx.DiGraph, tmp_path: Path) -> None:
    plan = replace(SMALL, train=recipes.by_kind((6, 1, 0)), held_out=recipes.by_kind((6, 1, 0)), unseen=("vehicle",))
    dataset_folder.make(plan, tmp_path, graph, lambda split: lambda done, total: None, processes=1)
    for split, server in (("train", "banking"), ("held_out", "vehicle")):
        for example in read_lines(Example, tmp_path / f"{split}.jsonl"):
            assert example.world.servers == (server,)
            assert {TOOLS[name][0].name for name in example.candidates} <= {server}
    assert dataset_folder.read(tmp_path).settings["unseen"] == ["vehicle"]


@pytest.mark.long
def test_chains_have_two_to_six_steps(graph: nx.DiGraph) -> None:
    examples, _ = assemble(recipes.by_kind((200, 0, 0)), "train", graph, SMALL.recipe, processes=1)
    lengths = Counter(len(example.steps) for example in examples)
    assert set(lengths) <= {2, 3, 4, 5, 6} and min(lengths[size] for size in (3, 4, 5)) >= 20, lengths


def test_modes_make_chains_whose_order_matters(train: list[Example]) -> None:
    """An implicit edge makes a chain with a step that is refused until another has run."""
    named = {
        (example.steps[a].calls[0].name, example.steps[b].calls[0].name) for example in train for a, b in example.edges
    }
    assert any("engine" in first or "lock" in first for first, _ in named)


def test_the_oracle_earns_the_most_and_doing_nothing_too_much_or_out_of_order_less(train: list[Example]) -> None:
    reversed_ones = 0
    for example in train:
        best = oracle(example).reward
        assert best is not None and best.total == pytest.approx(1.0 if example.abstains else 1.3)
        calls = [ExecutedCall(call, 3) for step in example.steps for call in step.calls]
        if example.abstains:
            continue
        assert score(example.steps, example.edges, []).total < best.total
        assert score(example.steps, example.edges, [one for one in calls for _ in range(3)]).total < best.total
        if example.edges and len({dumps(one.call) for one in calls}) == len(calls):  # equal calls could change places
            assert score(example.steps, example.edges, calls[::-1]).total < best.total
            reversed_ones += 1
    assert reversed_ones


def test_every_conversation_replays(made: Path) -> None:
    progress: list[tuple[int, int]] = []
    found = verify(made, lambda *now: progress.append(now))
    assert found.holds and found.held == 50 and not found.groups
    assert progress[-1] == (50, 50)


def test_the_manifest_says_all_that_it_was_made_with(made: Path, train: list[Example]) -> None:
    known = dataset_folder.read(made)
    assert known.recipe == SMALL.name and known.teacher == "programmatic"
    assert known.settings["knobs"]["distractor_count"] == [3, 8] and known.settings["train"] == dict(SMALL.train)
    assert known.servers == fingerprint(SOME) and known.schemas and known.code
    part = known.splits["train"]
    assert part.knobs["enums_stripped"] == sum(example.enums_stripped for example in train)
    assert part.levels == dict(Counter(example.level for example in train))
    assert sum(part.turns.values()) == sum(part.steps.values()) == part.conversations == len(train)
    assert known.content == content_digest({split: one.sha256 for split, one in known.splits.items()})


def test_a_finished_data_set_is_replaced_only_when_that_is_said(made: Path, graph: nx.DiGraph, tmp_path: Path) -> None:
    few = replace(SMALL, train=recipes.by_kind((3, 1, 0)), held_out=recipes.by_kind((1, 0, 0)))

    def make(plan: recipes.Plan, **how: bool) -> dataset_folder.Manifest:
        return dataset_folder.make(plan, tmp_path, graph, lambda split: lambda done, total: None, processes=1, **how)

    first = make(few)
    with pytest.raises(dataset_folder.DatasetExistsError, match="holds a finished dataset"):
        make(few)
    assert dataset_folder.read(tmp_path) == first
    assert make(few, replacing=True) == first


def test_imported_abstention_takes_the_place_of_our_own(graph: nx.DiGraph, tmp_path: Path) -> None:
    questions = tmp_path / "asked.jsonl"
    rows = [
        {"query": f"Question {n}?", "tools": '[{"name": "f", "parameters": {}}]', "answers": "[]"} for n in range(9)
    ]
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    formats.make(questions, tmp_path / "abstention", formats.FORMATS["xlam-irrelevance"])
    few = replace(SMALL, train=recipes.by_kind((4, 1, 3)), held_out=recipes.by_kind((1, 0, 1)))

    def make(out: Path) -> list[Example]:
        quiet = lambda split: lambda done, total: None  # noqa: E731
        dataset_folder.make(few, out, graph, quiet, processes=1, abstention=tmp_path / "abstention")
        return list(dataset_folder.examples(out, "train"))

    train = make(tmp_path / "mixed")
    assert Counter((example.kind, example.source) for example in train) == {
        ("chain", ""): 4,
        ("missing_function", ""): 1,
        ("irrelevance", "xlam-irrelevance"): 3,
    }
    assert not train[-1].source or not train[0].source  # spread, not put at an end
    theirs = dataset_folder.read(tmp_path / "abstention").content
    assert dataset_folder.read(tmp_path / "mixed").settings["abstention"] == {"content": theirs}
    assert dataset_folder.read(tmp_path / "mixed").splits["held_out"].sources == {"": 2}
    assert verify(tmp_path / "mixed").holds
    assert make(tmp_path / "again") == train


def test_a_recipe_takes_no_imported_conversation_with_calls(graph: nx.DiGraph, tmp_path: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [{"role": "user", "content": "Do it"}, {"role": "assistant", "tool_calls": [call]}]
    (tmp_path / "chats.jsonl").write_text(json.dumps({"messages": messages, "tools": [{"name": "f"}]}) + "\n")
    formats.make(tmp_path / "chats.jsonl", tmp_path / "chats", formats.FORMATS["openai"])
    with pytest.raises(dataset_folder.NoAbstention, match="cannot be replayed, so no recipe takes them"):
        dataset_folder.sample_abstentions(tmp_path / "chats", "train", SMALL)


def test_a_recipe_that_cannot_be_met_says_what_is_missing_and_why(graph: nx.DiGraph) -> None:
    one_world = replace(SMALL.recipe, worlds=1)
    lonely = nx.DiGraph(graph.subgraph(["list_driver_profiles"]), **graph.graph)
    with pytest.raises(CannotBeMet, match=r"\d+ chain conversations are missing after \d+ draws"):
        assemble(recipes.by_kind((50, 0, 0)), "train", lonely, one_world, processes=1)


def test_kinds_are_spread_evenly_over_the_indices() -> None:
    tasks = interleave_tasks({"chain": 90, "irrelevance": 10}, 5)
    assert [index for index, _, _ in tasks] == list(range(5, 105)) and {target for _, _, target in tasks} == {None}
    for start in range(0, 100, 20):
        assert sum(kind == "irrelevance" for _, kind, _ in tasks[start : start + 20]) == 2


def test_what_is_drawn_in_addition_is_about_the_tools_that_have_come_least(train: list[Example]) -> None:
    common = Counter(call.name for example in train for step in example.steps for call in step.calls)
    tools = [*sorted(common, key=lambda name: -common[name])[:2], "never_called"]
    assert rare(train, tools)[: ENOUGH * FOR_EACH] == ["never_called"] * ENOUGH * FOR_EACH
    tasks = interleave_tasks({"chain": 6, "irrelevance": 3}, 0, ["never_called", "never_called", "list_cards"])
    assert [target for _, kind, target in tasks if kind == "chain"] == ["never_called"] * 2 + ["list_cards"] + [
        None
    ] * 3
    assert {target for _, kind, target in tasks if kind != "chain"} == {None}


def test_a_world_is_shared_by_many_conversations(train: list[Example]) -> None:
    seeds = Counter(example.world.seed for example in train)
    assert max(seeds.values()) > 1
    assert all(World.open(seed, SOME, "small").digest() for seed in seeds)
