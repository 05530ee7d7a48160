"""An exported data set in the hands of Hugging Face: it loads, and gives a chat template what we give it."""

from __future__ import annotations

from pathlib import Path

import pytest
from datasets import Dataset, load_dataset

from mcp_servers.catalogue import fingerprint
from tests.prove.known import graph_of
from training_worker.chat.messages import chat_messages
from training_worker.core.models import SHIPPED
from training_worker.core.trajectory import Example
from training_worker.datasets import dataset_folder
from training_worker.datasets.export.publish import publish
from training_worker.datasets.importers.conversation import Chat, ChatMessage, example_of, tools_of
from training_worker.datasets.manifest import DrawCounts
from training_worker.environment.episode import Prompt, demonstration
from training_worker.policy.conversation import render
from training_worker.policy.model_families import chat_of
from training_worker.policy.policy_folder import Policy, load_policy
from training_worker.synthesis.conversation import Recipe, make
from training_worker.synthesis.knobs import TINY
from training_worker.training.curriculum import encode_full_demonstration

SERVERS = ("vehicle",)


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy(SHIPPED)


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    graph = graph_of(*SERVERS)
    return [example for index in range(40) if (example := make(index, "train", graph, Recipe(knobs=TINY))[0])]


@pytest.fixture(scope="module")
def exported(examples: list[Example], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("set")
    sides = {"train": examples[:-3], "held_out": examples[-3:]}
    drawn = DrawCounts(drawn=40, dropped={})
    dataset_folder.write(out, "some", {}, 0, fingerprint(SERVERS), lambda split: (sides[split], drawn), "programmatic")
    publish(out)
    return out


@pytest.mark.long
def test_the_folder_loads_with_both_splits(exported: Path, examples: list[Example], tmp_path: Path) -> None:
    loaded = load_dataset(str(exported), cache_dir=str(tmp_path))
    assert {split: len(rows) for split, rows in loaded.items()} == {"train": len(examples) - 3, "held_out": 3}
    for row, example in zip(loaded["train"], examples[:-3], strict=True):
        said = [{key: value for key, value in one.items() if value is not None} for one in row["messages"]]
        assert row["id"] == example.id and said == chat_messages(example)


@pytest.mark.long
def test_a_chat_template_renders_its_messages_as_our_own(
    exported: Path, examples: list[Example], policy: Policy, tmp_path: Path
) -> None:
    rows = Dataset.from_parquet(str(exported / "train.parquet"), cache_dir=str(tmp_path))
    for row, example in zip(rows, examples[:-3], strict=True):
        rendered = policy.tokenizer.apply_chat_template(row["messages"], tools=row["tools"] or None, tokenize=False)
        prompt = Prompt(example)
        spoken = demonstration(example, chat_of(policy.tokenizer).format)  # a rationale is of our own training alone
        assert rendered == render(policy.tokenizer, [*prompt.opening, *spoken], prompt.tools, generate=False)


def test_an_imported_conversation_with_calls_can_be_learned_from(policy: Policy) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}
    messages = [
        {"role": "user", "content": "Weather in Rome?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "sun"},
        {"role": "assistant", "content": "Sun."},
    ]
    chat = Chat().take(map(ChatMessage.model_validate, messages))
    example = example_of(chat.conversation(tools_of([{"name": "weather", "parameters": {}}])), "openai", None)
    encoded = encode_full_demonstration(policy.tokenizer, example)
    spoken = policy.tokenizer.decode([id for id, mask in zip(encoded.ids, encoded.mask, strict=True) if mask])
    assert '{"name": "weather", "arguments": {"city": "Rome"}}' in spoken and "Sun." in spoken and "sun" not in spoken
