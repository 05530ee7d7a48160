"""Manifest of a dataset: how it was made, counts of its conversations, and hashes of everything."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Annotated

from pydantic import Field

from mcp_servers.catalogue import TOOLS

from ..chat.schemas import is_ours, schemas_digest
from ..core.stage_cache import code_digest
from ..core.trajectory import Example, Json, Split, dumps
from ..synthesis.decline_proof import EXHAUSTED, SERVED, UNSEARCHABLE
from .recipes import Plan

FORMAT = 2  # increases when the meaning of a dataset's files changes
COUNTS = dict[str, int]
DROPPED_SEARCHES = {"served": SERVED, "exhausted": EXHAUSTED, "unsearchable": UNSEARCHABLE}


@dataclass(frozen=True, kw_only=True)
class Part:
    """Counts of one split, and of its dropped draws.

    Conversations are counted by kind, steps, server, tool (once per call), turns, knob, information level, persona,
    source ("" is synthesis) and recovery from failures (once per failure); `checks` counts imported conversations with
    calls by the verdict of external servers, `order_unknown` those without a known order of steps. `foreign_tools` are
    those of `tools` that external servers provide, whatever their names. `wording` counts the texts that a language
    model wrote, and those for which the scripted one remains, by reason.

    `quality` has the value of each row of dataflow/quality.py, where it was measured. `searches` counts the searches
    for another way to serve a wish whose tool is hidden (synthesis/decline_proof.py): those of the split's
    conversations, which found none, and those for which conversations were dropped.
    """

    conversations: int
    sha256: str
    kinds: COUNTS
    steps: COUNTS
    servers: COUNTS
    tools: COUNTS
    turns: COUNTS
    knobs: COUNTS
    levels: COUNTS
    personas: COUNTS
    failures: COUNTS
    sources: COUNTS
    not_certified: int
    drawn: int
    duplicates: int
    duplicates_by_name: int
    dropped: COUNTS
    checks: Annotated[COUNTS, Field(exclude_if=lambda checks: not checks)] = field(default_factory=dict)
    order_unknown: Annotated[int, Field(exclude_if=lambda count: not count)] = 0
    foreign_tools: Annotated[COUNTS, Field(exclude_if=lambda tools: not tools)] = field(default_factory=dict)
    wording: Annotated[COUNTS, Field(exclude_if=lambda counts: not counts)] = field(default_factory=dict)
    quality: Annotated[dict[str, float], Field(exclude_if=lambda figures: not figures)] = field(default_factory=dict)
    searches: Annotated[COUNTS, Field(exclude_if=lambda counts: not counts)] = field(default_factory=dict)

    @property
    def own_tools(self) -> COUNTS:
        """Number of calls of each tool of our servers."""
        own = {name: count - self.foreign_tools.get(name, 0) for name, count in self.tools.items() if name in TOOLS}
        return {name: count for name, count in own.items() if count}


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """A dataset's manifest; equal manifests mean equal bytes in the files.

    `settings` are all settings of the recipe, including the requested counts. `servers`, `schemas` and `code` identify
    the servers' code, the tools' schemas and the code that made the dataset; `content` is the SHA-256 over the splits'
    hashes.
    """

    format: int = FORMAT
    recipe: str
    settings: dict[str, Json]
    seed: int
    teacher: str
    servers: str
    schemas: str
    code: str
    content: str
    splits: dict[Split, Part]


@dataclass(frozen=True, kw_only=True)
class DrawCounts:
    """Counts of the draws, or of the lines read, for a split."""

    drawn: int
    duplicates: int = 0
    duplicates_by_name: int = 0
    dropped: COUNTS


def part(examples: Iterable[Example], sha256: str, drawn: DrawCounts) -> Part:
    """Count a split in one pass, without storing examples."""
    kinds, servers, tools, knobs, levels, personas, failures, sources, checks = (Counter[str]() for _ in range(9))
    foreign, wording = Counter[str](), Counter[str]()
    steps, turns = Counter[int](), Counter[int]()
    conversations = not_certified = order_unknown = unserved = 0
    for example in examples:
        conversations += 1
        not_certified += not example.certified
        order_unknown += example.order_unknown
        unserved += example.kind != "chain" and "decline" in example.acts
        kinds[example.kind] += 1
        steps[len(example.steps)] += 1
        turns[len(example.turns)] += 1
        levels[example.level] += 1
        personas[example.persona] += 1
        sources[example.source] += 1
        called = [call.name for step in example.steps for call in step.calls]
        tools.update(called)
        wording.update(example.wording)
        foreign.update(name for name in called if not is_ours(example, name))
        servers.update({TOOLS[name][0].name for name in called if name in TOOLS and not example.source})
        knobs.update(knobs_of(example))
        checks.update([example.check.verdict] if example.check else [])
        failures.update(failure.recovery for failure in example.failures)
    return Part(
        conversations=conversations,
        sha256=sha256,
        kinds=by_name(kinds),
        steps=by_size(steps),
        servers=by_name(servers),
        tools=by_name(tools),
        turns=by_size(turns),
        knobs=by_name(knobs),
        levels=by_name(levels),
        personas=by_name(personas),
        failures=by_name(failures),
        sources=by_name(sources),
        not_certified=not_certified,
        checks=by_name(checks),
        order_unknown=order_unknown,
        foreign_tools=by_name(foreign),
        searches=count_searches(unserved, drawn.dropped),
        wording=by_name(wording),
        **asdict(drawn),
    )


def count_searches(unserved: int, dropped: COUNTS) -> COUNTS:
    """Return the searches by outcome: `unserved` for conversations of the split, the others for dropped ones."""
    counts = {name: dropped.get(f"Rejected: {reason}", 0) for name, reason in DROPPED_SEARCHES.items()}
    return {name: count for name, count in ({"unserved": unserved} | counts).items() if count}


def knobs_of(example: Example) -> list[str]:
    """Return the robustness knobs that apply to an example (paper, section 2, step 4)."""
    turned = {
        "distractors": example.distractors > 0,
        "enums_stripped": example.enums_stripped,
        "irrelevance": example.kind == "irrelevance",
        "missing_function": example.kind == "missing_function",
    }
    return [name for name, is_turned in turned.items() if is_turned]


def by_name(counts: Counter[str]) -> COUNTS:
    return dict(sorted(counts.items()))


def by_size(counts: Counter[int]) -> COUNTS:
    return {str(size): counts[size] for size in sorted(counts)}


def settings_of(plan: Plan) -> dict[str, Json]:
    """Return all settings of a recipe as JSON."""
    wanted = {"train": dict(plan.train), "held_out": dict(plan.held_out)}
    return {**json.loads(dumps(plan.recipe)), **wanted, "unseen": list(plan.unseen)}


def content_digest(hashes: dict[Split, str]) -> str:
    """Return the SHA-256 over the splits' names and hashes."""
    return sha256("".join(f"{split} {digest}\n" for split, digest in hashes.items()).encode()).hexdigest()


def manifest(
    name: str, settings: dict[str, Json], seed: int, servers: str, splits: dict[Split, Part], teacher: str
) -> Manifest:
    """Return the manifest of a dataset that the present code made of these splits."""
    return Manifest(
        recipe=name,
        settings=settings,
        seed=seed,
        teacher=teacher,
        servers=servers,
        schemas=schemas_digest(TOOLS),
        code=code_digest(),
        content=content_digest({split: one.sha256 for split, one in splits.items()}),
        splits=splits,
    )
