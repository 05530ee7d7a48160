"""The data card: a README.md with Hugging Face metadata, written only from the manifest."""

from __future__ import annotations

import json
from collections.abc import Iterable

from ...dataflow.quality import ROWS, format_target, format_value
from ..importers.external_replay import VERDICTS
from ..importers.formats import FORMATS
from ..manifest import Manifest

PLOTS = "plots"
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
OURS = "apache-2.0"
SYNTHESIZED = """\
Conversations in which an assistant orchestrates tool calls on live, stateful servers, and some in which the right
act is to make no call. They were synthesized by PROVE Studio, an open implementation of *Programmatic Rewards On
Verified Environments* (arXiv 2606.03892), with the teacher *{teacher}*: a chain of tools is sampled from a graph whose
edges are proven by execution, run in a seeded world and worded. A conversation is included if a fresh world reproduces
every observation byte for byte, every argument comes from the user or a tool, the ground truth earns the maximum
reward, and no earlier conversation is too similar."""
IMPORTED = """\
Conversations imported by PROVE Studio from `{file}` ({title}). Their tools are not live: nothing can be run. Those in
which no call is required have a reward, 1 for no call; those with calls are **not certified**: they can be reviewed and
used for supervised fine-tuning, but not in recipes or rollouts."""
CHECKED = """\
Each conversation with calls was replayed twice, on fresh sessions of {servers}, during the import. Those whose calls
succeeded with the same results both times, equal to the recorded ones, are **certified**: these servers confirmed their
results. Rollouts on such servers are not available yet."""
CONTAMINATED = """\
Conversations that share a long run of words, or all words of a short turn, with a benchmark are held out and not used
for training: {count}."""
MIXED = """\
{count:,} of the conversations in which no call is required were imported ({sources}); the licence of their source
applies to them."""
LIMITS = """\
- The wording is the teacher's; the programmatic teacher uses a grammar, whose language is correct and plain but less
  varied than human language.
- People, companies, accounts and all other data are fictional and generated from a seed. Training and held-out worlds
  share no id, address or full name.
- Observations come from the server versions named by the fingerprint below; `manage.py verify` checks whether the
  current servers still return them.
- Recorded failures are only in `record`; `messages` has only what the task needs."""
IMPORTED_LIMITS = """\
- Type names in tool schemas were converted to JSON Schema; nothing else about the schemas was checked.
- Assistant text next to tool calls was removed."""
SEARCHES = {
    "unserved": "none found",
    "served": "one found, dropped",
    "exhausted": "budget exhausted, dropped",
    "unsearchable": "not possible, dropped",
}
LOADING = """\
```python
from datasets import load_dataset

data = load_dataset("path/to/this/folder")  # DatasetDict with train and held_out
```

`messages` and `tools` are in the OpenAI chat format of TRL's `SFTTrainer`. `record` is the line of the JSONL file: the
full example with its world, ground-truth steps, the edges between them, observations and digests."""


def card(manifest: Manifest, plots: Iterable[tuple[str, str]]) -> str:
    """Return the text of README.md; `plots` has the file and title of each plot."""
    return "\n\n".join([header(manifest), f"# {title(manifest)}", *body(manifest, plots)]) + "\n"


def header(manifest: Manifest) -> str:
    """Return the YAML metadata for Hugging Face; splits without conversations are left out."""
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
    """Return our own licence or that of the imported data; `other` if there are several or it is unknown."""
    kinds = {licence_of(name) or "other" for name in sources(manifest)}
    return kinds.pop() if len(kinds) == 1 else "other"


def licence_of(source: str) -> str:
    """Return the licence of a format; "" if it is unknown."""
    if not source:
        return OURS
    return FORMATS[source].licence if source in FORMATS else ""


def get_format_title(source: str) -> str:
    """Return the title of a format."""
    return FORMATS[source].title if source in FORMATS else "an imported table"


def sources(manifest: Manifest) -> list[str]:
    """Return the source formats of the conversations; "" is synthesis."""
    return sorted({name for one in manifest.splits.values() for name in one.sources})


def body(manifest: Manifest, plots: Iterable[tuple[str, str]]) -> list[str]:
    foreign = [name for name in sources(manifest) if name]
    if manifest.servers:
        parts = [SYNTHESIZED.format(teacher=manifest.teacher)]
        if foreign:
            count = sum(one.sources.get(name, 0) for one in manifest.splits.values() for name in foreign)
            parts.append(MIXED.format(count=count, sources=", ".join(map(get_format_title, foreign))))
    else:
        name = str(manifest.settings["format"])
        parts = [IMPORTED.format(file=manifest.settings["file"], title=get_format_title(name))]
        if held_out := (manifest.settings.get("contamination") or {}).get("held_out"):
            overlaps = ", ".join(f"{count:,} of {benchmark}" for benchmark, count in held_out.items())
            parts.append(CONTAMINATED.format(count=overlaps))
        if servers := manifest.settings.get("servers"):
            parts.append(CHECKED.format(servers=", ".join(servers)))
    parts += ["## Use", LOADING, "## Contents", counts(manifest)]
    parts += ["## Quality", quality(manifest)] if any_quality(manifest) else []
    parts += [f"![{overlaps}]({PLOTS}/{name})" for name, overlaps in plots]
    parts += [
        "## Provenance",
        format_provenance(manifest),
        "## Limits",
        LIMITS if manifest.servers else IMPORTED_LIMITS,
    ]
    return [*parts, "## Licence", licence_text(manifest)]


def licence_text(manifest: Manifest) -> str:
    lines = []
    for name in sources(manifest):
        what = get_format_title(name) if name else "Synthesized conversations"
        terms = licence_of(name) or "the licence of their source"
        lines.append(f"- {what}: {terms}")
    return "\n".join(lines)


def counts(manifest: Manifest) -> str:
    """Return a table of the conversations of each split, by property."""
    splits = list(manifest.splits)
    rows = [["", *(split.replace("_", "-") for split in splits)], ["---", *("---:" for _ in splits)]]
    rows.append(["conversations", *(f"{one.conversations:,}" for one in manifest.splits.values())])
    named = ("kinds", "steps", "turns", "knobs", "levels", "personas", "failures", "wording", "servers")
    for name in named:
        found = [getattr(one, name) for one in manifest.splits.values()]
        for value in dict.fromkeys(value for one in found for value in one if value):
            rows.append([f"{name}: {value}", *(f"{one.get(value, 0):,}" for one in found)])
    rows.append(["tools called", *(f"{len(one.tools):,}" for one in manifest.splits.values())])
    for name, title in (("foreign_tools", "of them external tools"), ("order_unknown", "order of steps unknown")):
        found = [getattr(one, name) for one in manifest.splits.values()]
        sizes = [one if isinstance(one, int) else len(one) for one in found]
        rows += [[title, *(f"{size:,}" for size in sizes)]] if any(sizes) else []
    rows.append(["not certified", *(f"{one.not_certified:,}" for one in manifest.splits.values())])
    for verdict, title in VERDICTS.items():
        checked = [one.checks.get(verdict, 0) for one in manifest.splits.values()]
        rows += [[f"calls {title}", *(f"{count:,}" for count in checked)]] if any(checked) else []
    for name, title in SEARCHES.items():
        ended = [one.searches.get(name, 0) for one in manifest.splits.values()]
        rows += [[f"searches for another solution: {title}", *(f"{count:,}" for count in ended)]] if any(ended) else []
    rows.append(["drawn", *(f"{one.drawn:,}" for one in manifest.splits.values())])
    rows.append(["duplicates", *(f"{one.duplicates:,}" for one in manifest.splits.values())])
    rows.append(["dropped", *(f"{sum(one.dropped.values()):,}" for one in manifest.splits.values())])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def any_quality(manifest: Manifest) -> bool:
    return any(one.quality for one in manifest.splits.values())


def quality(manifest: Manifest) -> str:
    """Return a table of the measures of each split, with the targets and the values of BFCL multi-turn."""
    splits = manifest.splits
    rows = [["", *(split.replace("_", "-") for split in splits), "target", "BFCL multi-turn"]]
    rows.append(["---", *("---:" for _ in range(len(splits) + 2))])
    for row in ROWS:
        found = [one.quality.get(row.name) for one in splits.values()]
        values = ["" if value is None else format_value(row, value) for value in found]
        rows.append([row.label, *values, format_target(row), "" if row.bfcl is None else format_value(row, row.bfcl)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def format_provenance(manifest: Manifest) -> str:
    """Return the settings and versions that reproduce and identify the dataset."""
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
