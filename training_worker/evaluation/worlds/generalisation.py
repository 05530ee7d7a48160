"""Generalisation: success on servers that a policy was trained on, and on servers kept out of its training.

The two sides use separate graphs, so no conversation has tools of both, not even as distractors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from mcp_servers.catalogue import SERVERS

from ...core.trajectory import Example, file_digest, read_lines
from ...datasets import dataset_folder
from ...datasets.recipes import UNSEEN
from .benchmark import Conversations
from .options import BadOption, WorldOptions, making_of, servers_of
from .task_sampler import chains, draws_of

SEEN, HELD_OUT = "seen", "kept out"
DEFAULT = ",".join(UNSEEN)


class Generalisation(Conversations):
    """Two categories of equal size, each spread evenly over its servers."""

    name = "generalisation"


def generalisation(options: Mapping[str, str], graphs: Path) -> Generalisation:
    """Return the benchmark for these options; `data` is a training set without tools of the servers kept out.

    Raises BadOption, and UnreadableData for a damaged dataset.
    """
    kept_out, making = servers_of(options, "kept_out"), making_of(options)
    seen = tuple(name for name in making.servers if name not in kept_out)
    if not kept_out or not seen:
        raise BadOption(f"kept_out names at least one server and leaves at least one of {', '.join(making.servers)}.")
    settings = {**making.settings(), "servers": list(seen), "kept_out": list(kept_out)}
    if options["data"]:
        settings["data"] = verify_training_data(Path(options["data"]).expanduser(), kept_out)
    sides = {SEEN: seen, HELD_OUT: kept_out}
    return Generalisation({side: of_side(making, graphs, servers) for side, servers in sides.items()}, settings)


def of_side(making: WorldOptions, graphs: Path, servers: Sequence[str]) -> list[Example]:
    """Return the conversations of a category, spread over the servers of a side."""
    draws, places = draws_of(making, graphs, servers), {name: place for place, name in enumerate(SERVERS)}
    share, rest = divmod(making.count, len(servers))
    return [
        example
        for number, name in enumerate(servers)
        for example in chains(draws, [name], places[name], share + (number < rest))
    ]


def verify_training_data(path: Path, kept_out: Sequence[str]) -> str:
    """Check that a training set has no tool of the servers kept out, and return the hash of its content.

    Raises BadOption, and UnreadableData for a damaged dataset.
    """
    file = train_file(path)
    dataset_folder.check(file)
    met, conversations = Counter[str](), 0
    for example in read_lines(Example, file):
        conversations += 1
        met.update(set(example.world.servers).intersection(kept_out))
    if met:
        counts = ", ".join(f"{name} ({count:,} of {conversations:,})" for name, count in met.most_common())
        raise BadOption(
            f"data: conversations of {file} have tools of servers that should be kept out: {counts}. "
            "Name other servers with kept_out, or make the training set without them (docs/evaluation-worlds.md)."
        )
    return file_digest(file)[:16]


def train_file(path: Path) -> Path:
    """Return the file of training conversations, given it, its folder or the manifest. Raises BadOption."""
    if path.name == dataset_folder.MANIFEST:
        path = path.parent
    file = path / "train.jsonl" if path.is_dir() else path
    if not file.is_file():
        raise BadOption(f"data: {file} does not exist; name the folder of a training set.")
    return file
