"""Dataset folders: the conversations, and a manifest that describes them and how they were made.

A finished dataset is immutable: replacing it must be requested, and a file changed by hand is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import networkx as nx
from pydantic import ValidationError

from mcp_servers.catalogue import TOOLS
from mcp_servers.core import Draw

from ..core.trajectory import Example, Json, Split, UnreadableData, file_digest, loads, read_lines, write_lines
from ..dataflow.quality import figures
from ..synthesis.dataset import Progress, Report, Watch, assemble
from ..synthesis.shards import SHARDS, open_shard_folder
from ..synthesis.teachers import PROGRAMMATIC
from ..synthesis.worker_pool import Ask, request_no_shard
from .manifest import DrawCounts, Manifest, content_digest, manifest, part, settings_of
from .recipes import Plan

SPLITS: tuple[Split, ...] = ("train", "held_out")
MANIFEST = "manifest.json"


class DatasetExistsError(Exception):
    """A target folder that already holds another dataset."""


class NoAbstention(Exception):
    """A dataset that should provide abstention examples and has none."""


def make(
    plan: Plan,
    folder: Path,
    graph: nx.DiGraph,
    progress: Callable[[Split], Progress],
    processes: int | None = None,
    *,
    abstention: Path | None = None,
    replacing: bool = False,
    ask: Ask = request_no_shard,
    watch: Watch = lambda fresh: None,
) -> Manifest:
    """Make the dataset of a plan. Its files are written atomically, the manifest last.

    Interrupted work resumes from its shards; `ask` may have helpers make others. With `abstention`, the folder of an
    imported dataset, its abstention examples replace synthesized irrelevant queries, as far as there are enough.
    Raises CannotBeMet, NoAbstention, DatasetExistsError unless `replacing`, StageFailed when another process is making
    it, and what `read` and `check` raise.
    """
    require_free_folder(folder, replacing)
    settings = settings_of(plan)
    if abstention:
        settings["abstention"] = {"content": read(abstention).content}
    given = {split: sample_abstentions(abstention, split, plan) for split in SPLITS}

    def split_of(split: Split) -> tuple[list[Example], DrawCounts]:
        wanted, own = dict(plan.get_kind_counts(split)), given[split]
        wanted["irrelevance"] -= len(own)
        about, tell = plan.graph(graph, split), progress(split)
        examples, report = assemble(wanted, split, about, plan.recipe, tell, processes, shards, ask, watch)
        return spread(examples, own), count_draws(report, len(own))

    with open_shard_folder(folder / SHARDS) as shards:
        servers, teacher = graph.graph["fingerprint"], plan.recipe.teacher or PROGRAMMATIC
        return write(folder, plan.name, settings, plan.recipe.seed, servers, split_of, teacher)


def write(
    folder: Path,
    name: str,
    settings: dict[str, Json],
    seed: int,
    servers: str,
    split_of: Callable[[Split], tuple[list[Example], DrawCounts]],
    teacher: str,
) -> Manifest:
    """Write each split as soon as it is made, and the manifest last."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    parts = {}
    for split in SPLITS:
        examples, report = split_of(split)
        path = folder / f"{split}.jsonl"
        write_lines(path, examples)
        parts[split] = replace(part(examples, file_digest(path), report), quality=figures(examples))
    made = manifest(name, settings, seed, servers, parts, teacher)
    write_lines(folder / MANIFEST, [made])
    return made


def require_free_folder(folder: Path, replacing: bool) -> None:
    """Raise DatasetExistsError for a folder with a finished dataset, unless it is being replaced."""
    if not replacing and (folder / MANIFEST).exists():
        raise DatasetExistsError(
            f"{folder} holds a finished dataset. Name another folder with --out, or replace it with --replace."
        )


def count_draws(report: Report, imported: int) -> DrawCounts:
    return DrawCounts(
        drawn=report.draws + imported,
        duplicates=report.made - report.distinct,
        duplicates_by_name=report.made - report.accepted_by_name_alone,
        dropped=dict(report.dropped.most_common()),
    )


def sample_abstentions(folder: Path | None, split: Split, plan: Plan) -> list[Example]:
    """Sample abstention examples of an imported dataset's split, as many as the plan has irrelevant queries."""
    if folder is None:
        return []
    found = [example for example in examples(folder, split) if example.source and example.abstains]
    if split == "train" and not found:
        raise NoAbstention(
            f"{folder} has no imported training examples that need no call. Conversations with calls "
            "cannot be replayed, so no recipe takes them; import When2Call or xLAM-irrelevance."
        )
    draw = Draw("abstention", plan.recipe.seed, split)
    chosen = draw.sample(range(len(found)), min(len(found), plan.get_kind_counts(split)["irrelevance"]))
    return [found[place] for place in sorted(chosen)]


def spread(own: list[Example], other: list[Example]) -> list[Example]:
    """Merge two lists, each in its order and spread evenly."""
    places = [((i + 0.5) / len(group), which, i) for which, group in enumerate((own, other)) for i in range(len(group))]
    return [(own, other)[which][i] for _, which, i in sorted(places)]


def read(folder: Path) -> Manifest:
    """Read the manifest of a dataset. Raises FileNotFoundError, UnreadableData."""
    path = folder / MANIFEST
    try:
        return loads(Manifest, path.read_bytes())
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(map(str, fault["loc"])) or "as a whole"
        raise UnreadableData(
            f"{path} is not a manifest of this version ({where}: {fault['msg']}). Make the dataset again."
        ) from None


def examples(folder: Path, split: Split) -> Iterator[Example]:
    """Yield the conversations of a split after checking its file. Raises what `check` raises."""
    path = folder / f"{split}.jsonl"
    check(path)
    yield from read_lines(Example, path)


def check(path: Path) -> None:
    """Raise UnreadableData for a file that differs from the manifest next to it, if there is one.

    Raises FileNotFoundError where the file is missing.
    """
    digest = file_digest(path)
    if not (path.parent / MANIFEST).exists():
        return
    digests = {f"{split}.jsonl": one.sha256 for split, one in read(path.parent).splits.items()}
    if digests.get(path.name, digest) != digest:
        raise UnreadableData(
            f"{path} is not the file that the manifest describes: its hash differs. "
            "Restore the original file, or make the dataset again."
        )


def list_changed_files(folder: Path, known: Manifest) -> list[str]:
    """Return the files of a dataset that differ from its manifest."""
    hashes: dict[Split, str] = {
        split: file_digest(path) if (path := folder / f"{split}.jsonl").exists() else "" for split in known.splits
    }
    wrong = [f"{split}.jsonl" for split, one in known.splits.items() if hashes[split] != one.sha256]
    right = content_digest({split: one.sha256 for split, one in known.splits.items()}) == known.content
    return wrong if right else [*wrong, MANIFEST]


def format_manifest(known: Manifest) -> str:
    """Return a summary of the manifest in a few lines."""
    lines = [f"{known.recipe}, seed {known.seed}, servers {known.servers}, content {known.content[:16]}"]
    for split, one in known.splits.items():
        line = (
            f"{split.replace('_', '-')}: {one.conversations:,} conversations "
            f"({', '.join(f'{count:,} {kind}' for kind, count in one.kinds.items())}); "
            f"steps {', '.join(f'{size}: {count:,}' for size, count in one.steps.items())}; "
        )
        if ours := one.own_tools:
            rarest = min(ours, key=lambda name: (ours[name], name))
            line += f"{len(ours)} of {len(TOOLS)} tools, the rarest {ours[rarest]} times ({rarest}); "
        lines.append(
            f"{line}{one.drawn:,} drawn, {one.duplicates:,} were duplicates, {sum(one.dropped.values()):,} dropped"
        )
        if one.wording:
            lines.append(f"words: {', '.join(f'{whose} {count:,}' for whose, count in one.wording.items())}")
    return "\n".join(lines)
