"""A data set in a folder: its conversations, and a manifest that says what they are and were made with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import networkx as nx

from mcp_servers.catalogue import TOOLS

from ..trajectory import Example, Split, file_digest, loads, read_lines, write_lines
from .crew import Ask, nobody
from .dataset import Progress, Report, assemble
from .recipes import Plan
from .shards import SHARDS, kept_until_done
from .validate import Rejected, holds

SPLITS: tuple[Split, ...] = ("train", "held_out")
MANIFEST = "manifest.json"


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one split holds: conversations by kind, steps, server, tool and turns; and what was dropped, by reason."""

    conversations: int
    sha256: str
    kinds: dict[str, int]
    steps: dict[str, int]
    servers: dict[str, int]
    tools: dict[str, int]
    turns: dict[str, int]
    drawn: int
    duplicates: int
    duplicates_by_name: int
    dropped: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a data set is; equal ones have equal bytes in their files. `teacher` says who worded it."""

    recipe: str
    seed: int
    servers: str
    splits: dict[Split, Part]
    teacher: str = "programmatic"


def make(
    plan: Plan,
    folder: Path,
    graph: nx.DiGraph,
    progress: Callable[[Split], Progress],
    processes: int | None = None,
    ask: Ask = nobody,
) -> Manifest:
    """Make the data set of a plan. Its files appear whole, the manifest last.

    What is broken off goes on from its shards the next time. Raises CannotBeMet.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    parts: dict[Split, Part] = {}
    with kept_until_done(folder / SHARDS) as shards:
        for split in SPLITS:
            wanted, tell = plan.wanted(split), progress(split)
            examples, report = assemble(wanted, split, graph, plan.recipe, tell, processes, shards, ask)
            path = folder / f"{split}.jsonl"
            write_lines(path, examples)
            parts[split] = part(examples, report, path)
        manifest = Manifest(recipe=plan.name, seed=plan.recipe.seed, servers=graph.graph["fingerprint"], splits=parts)
        write_lines(folder / MANIFEST, [manifest])
    return manifest


def part(examples: list[Example], report: Report, path: Path) -> Part:
    servers = Counter(TOOLS[name][0].name for name, count in report.tools.items() for _ in range(count))
    return Part(
        conversations=len(examples),
        sha256=file_digest(path),
        kinds=dict(sorted(report.kinds.items())),
        steps=by_size(Counter(len(example.steps) for example in examples)),
        servers=dict(sorted(servers.items())),
        tools=dict(sorted(report.tools.items())),
        turns=by_size(Counter(len(example.turns) for example in examples)),
        drawn=report.asked,
        duplicates=report.made - report.distinct,
        duplicates_by_name=report.made - report.kept_by_name_alone,
        dropped=dict(report.dropped.most_common()),
    )


def by_size(counts: Counter[int]) -> dict[str, int]:
    return {str(size): counts[size] for size in sorted(counts)}


def read(folder: Path) -> Manifest:
    """The manifest of a data set. Raises FileNotFoundError, or pydantic's ValidationError where it is torn."""
    return loads(Manifest, (folder / MANIFEST).read_bytes())


def verify(folder: Path, progress: Progress = lambda done, total: None) -> tuple[int, list[str]]:
    """Replay every conversation of a folder on today's servers; how many hold, and what became of each other one.

    Raises UnreadableData for a line that is no conversation.
    """
    manifest = read(folder)
    total, held, drifted = sum(one.conversations for one in manifest.splits.values()), 0, list[str]()
    done = 0
    for split, told in manifest.splits.items():
        path = folder / f"{split}.jsonl"
        if file_digest(path) != told.sha256:
            drifted.append(f"{path.name} is not the file that the manifest speaks of: its contents have another hash.")
        for example in read_lines(Example, path):
            try:
                holds(example)
                held += 1
            except Rejected as reason:
                drifted.append(str(reason))
            done += 1
            progress(done, total)
    return held, drifted


def told(manifest: Manifest) -> str:
    """The manifest in a few lines."""
    lines = [f"{manifest.recipe}, seed {manifest.seed}, servers {manifest.servers}"]
    for split, one in manifest.splits.items():
        rarest = min(one.tools, key=lambda name: (one.tools[name], name))
        lines.append(
            f"{split.replace('_', '-')}: {one.conversations:,} conversations "
            f"({', '.join(f'{count:,} {kind}' for kind, count in one.kinds.items())}); "
            f"steps {', '.join(f'{size}: {count:,}' for size, count in one.steps.items())}; "
            f"{len(one.tools)} of {len(TOOLS)} tools, the rarest {one.tools[rarest]} times ({rarest}); "
            f"{one.drawn:,} drawn, {one.duplicates:,} were duplicates, {sum(one.dropped.values()):,} trials dropped"
        )
    return "\n".join(lines)
