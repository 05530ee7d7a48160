"""Held-out worlds as a benchmark: a policy's calls in unseen worlds, and their final state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from mcp_servers.catalogue import SERVERS

from ...chat.protocol import ChatModel
from ...core.trajectory import Example, Json, read_lines
from ...datasets import dataset_folder
from ..protocol import Item, Policy, Result
from .episode import attempt_of, make_oracle, result_of
from .options import BadOption, making_of
from .scorer import judge_rollout
from .task_sampler import ABSTENTION, by_server, category_of, digest_of

JUDGE = "1"  # increases when the verdict on an unchanged rollout changes
CATEGORIES = (*SERVERS, ABSTENTION)


class Conversations:
    """A benchmark of our own conversations by category, each judged by success (see scorer.py). Thread-safe.

    The version is a digest of the conversations, and so depends on how they were made and on which servers.
    """

    name = "worlds"

    def __init__(self, examples: Mapping[str, Sequence[Example]], settings: dict[str, Json]):
        self.examples, self.settings = examples, settings
        self.by_id = {example.id: example for own in examples.values() for example in own}
        self.version = f"{JUDGE}-{digest_of(self.by_id.values())}"

    @property
    def categories(self) -> tuple[str, ...]:
        return tuple(self.examples)

    def items(self) -> Sequence[Item]:
        return [Item(one.id, category) for category, examples in self.examples.items() for one in examples]

    def attempt(self, item: Item, policy: Policy) -> Result:
        """Run and judge a conversation. Raises NotRun, and UnreadableData if the present servers cannot run it."""
        attempt = attempt_of(self.by_id[item.task], policy)
        return result_of(item, policy, attempt, lambda rollout: judge_rollout(attempt.example, rollout))

    def oracle(self, item: Item) -> ChatModel:
        return make_oracle(self.by_id[item.task])


def worlds(options: Mapping[str, str], graphs: Path) -> Conversations:
    """Return the benchmark for these options; `graphs` is the folder of dependency graphs.

    Raises BadOption, and UnreadableData for a damaged dataset.
    """
    if options["data"]:
        path = Path(options["data"]).expanduser()
        return Conversations(of_file(path), {"data": str(path.name)})
    making = making_of(options)
    return Conversations(by_server(making, graphs), making.settings())


def of_file(path: Path) -> dict[str, list[Example]]:
    """Return the held-out conversations of a dataset by category, in the catalogue's order."""
    file = path / "held_out.jsonl" if path.is_dir() else path
    if not file.is_file():
        raise BadOption(f"data: {file} does not exist; name a dataset's folder, or its held_out.jsonl.")
    dataset_folder.check(file)
    found: dict[str, list[Example]] = {}
    for example in read_lines(Example, file):
        found.setdefault(category_of(example), []).append(example)
    if not found:
        raise BadOption(f"data: {file} has no conversations.")
    return {name: found[name] for name in CATEGORIES if name in found}
