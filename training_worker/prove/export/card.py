"""The data card: a README.md that Hugging Face reads, written from the manifest alone."""

from __future__ import annotations

import json
from collections.abc import Iterable

from ..importers.external_replay import VERDICTS
from ..importers.formats import FORMATS
from ..synthesis.manifest import Manifest
from ..synthesis.quality import ROWS, format_target, format_value

PLOTS = "plots"
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
OURS = "apache-2.0"
SYNTHESIZED = """\
Conversations in which an assistant orchestrates calls of tools on live, stateful servers, and some in which the
right act is to call nothing. They were synthesized by PROVE Studio, an open implementation of *Programmatic
Rewards On Verified Environments* (arXiv 2606.03892), with the teacher *{teacher}*: a chain of tools is drawn from a
graph whose edges are proven by execution, run in a seeded world, worded, and kept when a fresh world gives
every reply again, byte for byte, every argument was said by the user or shown by a tool, the ground truth earns
the largest reward, and no conversation kept before is too similar."""
IMPORTED = """\
Conversations that others made, imported by PROVE Studio from `{file}` ({title}). Their tools are not live:
nothing can be run. Those in which nothing is to be called have a reward, 1 for calling nothing; those with
calls are **not certified**: they can be reviewed and learned from with supervision, and no recipe or rollout
takes them."""
CHECKED = """\
Each conversation with calls was replayed twice, on fresh sessions of {servers}, at its import. Those whose calls
succeeded and were answered alike both times, and as recorded, are **certified** by that, so what they say of these
servers was shown; rollouts on such servers are not available yet."""
CONTAMINATED = """\
Conversations that share a long run of words, or all words of a short turn, with a benchmark are held out, not for
training: {count}."""
MIXED = """\
{count:,} of the conversations in which nothing is to be called are not ours: they were imported ({sources}),
and the licence of their source holds for them."""
LIMITS = """\
- The language is the teacher's: the programmatic one's is a grammar's, correct and plain, less varied than
  people's.
- People, companies, accounts and all else are made up, from a seed. Training and held-out worlds share no id,
  address or full name.
- Replies are those of the servers named by the fingerprint below; `manage.py verify` tells whether today's give
  them still.
- Failures met on the way are in `record` alone; `messages` holds what the task needs."""
IMPORTED_LIMITS = """\
- Types of tool schemas were put into JSON Schema's names; nothing else about them was checked.
- What an assistant says beside its calls was not kept."""
SEARCHES = {
    "unserved": "none found",
    "served": "one found, so dropped",
    "exhausted": "budget exhausted, so dropped",
    "unsearchable": "not possible, so dropped",
}
LOADING = """\
```python
from datasets import load_dataset

data = load_dataset("path/to/this/folder")  # DatasetDict with train and held_out
```

`messages` and `tools` are in the OpenAI chat format, as TRL's `SFTTrainer` takes them. `record` is the line of
the JSONL file: the whole example with its world, ground-truth steps, the edges between them, replies and
digests."""


def card(manifest: Manifest, plots: Iterable[tuple[str, str]]) -> str:
    """The text of README.md; `plots` are the files of plots and what they show."""
    return "\n\n".join([header(manifest), f"# {title(manifest)}", *body(manifest, plots)]) + "\n"


def header(manifest: Manifest) -> str:
    """The YAML that Hugging Face reads; splits without a conversation are no files to load."""
    total = sum(one.conversations for one in manifest.splits.values())
    size = next((name for most, name in SIZES if total < most), "n>1M")
    lines = ["---", f"pretty_name: {json.dumps(title(manifest))}", f"license: {licence(manifest)}", "language: [en]"]
    lines += ["task_categories: [text-generation]", "tags: [tool-use, function-calling, agents, synthetic, mcp]"]
    lines += [f"size_categories: [{size}]", "configs:", "- config_name: default", "  data_files:"]
    for split, one in manifest.splits.items():
        if one.conversations:
            lines += [f"  - split: {split}", f"    path: {split}.parquet"]
    return "\n".join([*lines, "---"])


def title(manifest: Manifest) -> str:
    return f"PROVE {manifest.recipe}" if manifest.servers else f"PROVE: {manifest.recipe}"


def licence(manifest: Manifest) -> str:
    """Our own, or that of what was imported; `other` where the user knows it and we do not, or there are several."""
    kinds = {licence_of(name) or "other" for name in sources(manifest)}
    return kinds.pop() if len(kinds) == 1 else "other"


def licence_of(source: str) -> str:
    """That of a format; "" where only the user knows it."""
    if not source:
        return OURS
    return FORMATS[source].licence if source in FORMATS else ""


def named(source: str) -> str:
    """A format in words; a table of any other is only that."""
    return FORMATS[source].title if source in FORMATS else "a table of others"


def sources(manifest: Manifest) -> list[str]:
    """The formats that conversations came in; "" is synthesis."""
    return sorted({name for one in manifest.splits.values() for name in one.sources})


def body(manifest: Manifest, plots: Iterable[tuple[str, str]]) -> list[str]:
    foreign = [name for name in sources(manifest) if name]
    if manifest.servers:
        parts = [SYNTHESIZED.format(teacher=manifest.teacher)]
        if foreign:
            count = sum(one.sources.get(name, 0) for one in manifest.splits.values() for name in foreign)
            parts.append(MIXED.format(count=count, sources=", ".join(map(named, foreign))))
    else:
        name = str(manifest.settings["format"])
        parts = [IMPORTED.format(file=manifest.settings["file"], title=named(name))]
        if held_out := (manifest.settings.get("contamination") or {}).get("held_out"):
            told = ", ".join(f"{count:,} of {benchmark}" for benchmark, count in held_out.items())
            parts.append(CONTAMINATED.format(count=told))
        if servers := manifest.settings.get("servers"):
            parts.append(CHECKED.format(servers=", ".join(servers)))
    parts += ["## Use", LOADING, "## What is in it", counts(manifest)]
    parts += ["## How good it is to learn from", quality(manifest)] if any_quality(manifest) else []
    parts += [f"![{told}]({PLOTS}/{name})" for name, told in plots]
    parts += [
        "## How it was made",
        format_provenance(manifest),
        "## Limits",
        LIMITS if manifest.servers else IMPORTED_LIMITS,
    ]
    return [*parts, "## Licence", licence_text(manifest)]


def licence_text(manifest: Manifest) -> str:
    lines = []
    for name in sources(manifest):
        what = named(name) if name else "Synthesized conversations"
        terms = licence_of(name) or "that of their source"
        lines.append(f"- {what}: {terms}")
    return "\n".join(lines)


def counts(manifest: Manifest) -> str:
    """A table of the conversations of each split, by property."""
    splits = list(manifest.splits)
    rows = [["", *(split.replace("_", "-") for split in splits)], ["---", *("---:" for _ in splits)]]
    rows.append(["conversations", *(f"{one.conversations:,}" for one in manifest.splits.values())])
    named = ("kinds", "steps", "turns", "knobs", "levels", "personas", "failures", "wording", "servers")
    for name in named:
        found = [getattr(one, name) for one in manifest.splits.values()]
        for value in dict.fromkeys(value for one in found for value in one if value):
            rows.append([f"{name}: {value}", *(f"{one.get(value, 0):,}" for one in found)])
    rows.append(["tools called", *(f"{len(one.tools):,}" for one in manifest.splits.values())])
    for name, told in (("foreign_tools", "of them tools of others"), ("order_unknown", "order of the steps unknown")):
        found = [getattr(one, name) for one in manifest.splits.values()]
        sizes = [one if isinstance(one, int) else len(one) for one in found]
        rows += [[told, *(f"{size:,}" for size in sizes)]] if any(sizes) else []
    rows.append(["not certified", *(f"{one.not_certified:,}" for one in manifest.splits.values())])
    for verdict, told in VERDICTS.items():
        checked = [one.checks.get(verdict, 0) for one in manifest.splits.values()]
        rows += [[f"calls {told}", *(f"{count:,}" for count in checked)]] if any(checked) else []
    for name, told in SEARCHES.items():
        ended = [one.searches.get(name, 0) for one in manifest.splits.values()]
        rows += [[f"searches for another way: {told}", *(f"{count:,}" for count in ended)]] if any(ended) else []
    rows.append(["drawn", *(f"{one.drawn:,}" for one in manifest.splits.values())])
    rows.append(["duplicates", *(f"{one.duplicates:,}" for one in manifest.splits.values())])
    rows.append(["dropped", *(f"{sum(one.dropped.values()):,}" for one in manifest.splits.values())])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def any_quality(manifest: Manifest) -> bool:
    return any(one.quality for one in manifest.splits.values())


def quality(manifest: Manifest) -> str:
    """Return a table of the measures of each split, beside the targets and BFCL multi-turn."""
    splits = manifest.splits
    rows = [["", *(split.replace("_", "-") for split in splits), "target", "BFCL multi-turn"]]
    rows.append(["---", *("---:" for _ in range(len(splits) + 2))])
    for row in ROWS:
        found = [one.quality.get(row.name) for one in splits.values()]
        values = ["" if value is None else format_value(row, value) for value in found]
        rows.append([row.label, *values, format_target(row), "" if row.bfcl is None else format_value(row, row.bfcl)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def format_provenance(manifest: Manifest) -> str:
    """What it takes to make it again, and to know it."""
    settings = json.dumps(manifest.settings, indent=1, ensure_ascii=False)
    facts = (
        ("recipe", manifest.recipe),
        ("seed", manifest.seed),
        ("teacher", manifest.teacher or "none"),
        ("servers", manifest.servers or "none"),
        ("tool schemas", manifest.schemas),
        ("code", manifest.code),
        ("content (SHA-256)", manifest.content),
        ("format", manifest.format),
    )
    table = "\n".join(["| | |", "| --- | --- |", *(f"| {name} | `{value}` |" for name, value in facts)])
    return f"{table}\n\n```json\n{settings}\n```"
