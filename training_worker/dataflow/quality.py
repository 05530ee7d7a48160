"""Quality measures of a dataset: dependence between steps, raw ids, distractor tools and variety of wording.

A step depends on an earlier one when it cannot be done without it: each of its calls takes a value that only an earlier
observation shows (it is fed), or has a different result without an earlier step (it is enabled).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

from mcp_servers.catalogue import TOOLS

from ..core.trajectory import Edges, Example, Json, ToolCall
from ..graph.edges import longest_path
from .provenance import contains_value, single
from .resolver import find_winners
from .speech import find_said
from .text_statistics import TEXT_ROWS, QualityRow, measure_ngrams, measure_openings, measure_variety

Tally = tuple[str, float, float]
Value = str | int | float
VALUE_KEYWORDS = ("enum", "const", "default", "examples")  # keywords of JSON Schema that show a value
LEAST_INTEGER = 10  # smaller ones occur everywhere
SIGNS = {">=": "≥", "<=": "≤"}
SPELLED_OUT = "EmailAddress"  # an id that users do say, like paths


@dataclass(frozen=True, kw_only=True)
class Quality:
    """Measures of a dataset, one field for each of ROWS; 0 where there is nothing to measure.

    `tokens` is the size of the sample behind distinct-2 and distinct-4, `features` counts examples by kind of
    difficulty.
    """

    conversations: int = 0
    calls: float = 0.0
    dependent_steps: float = 0.0
    fed_steps: float = 0.0
    dependent_chains: float = 0.0
    path_of_3: float = 0.0
    path_of_4: float = 0.0
    spelled_ids: float = 0.0
    raw_id_chains: float = 0.0
    tools_shown: float = 0.0
    tools_called: float = 0.0
    repeated_tool: float = 0.0
    parallel_steps: float = 0.0
    distinct_answers: float = 0.0
    distinct_masked: float = 0.0
    commonest_masked: float = 0.0
    distinct_2: float = 0.0
    distinct_4: float = 0.0
    common_openings: float = 0.0
    alternatives: float = 0.0
    tokens: int = 0
    features: dict[str, int] = field(default_factory=dict)

    def value(self, row: QualityRow) -> float:
        """Return the value of a row."""
        return float(getattr(self, row.name))

    def meets_row_target(self, row: QualityRow) -> bool | None:
        """Return whether a row's target is met; None for a row without one."""
        return is_target_met(row, self.value(row))


def is_target_met(row: QualityRow, value: float) -> bool | None:
    """Return whether a value meets the target of a row; None for a row without one."""
    if row.target is None:
        return None
    comparison, bound = row.target
    return value >= bound if comparison == ">=" else value <= bound


ROWS: tuple[QualityRow, ...] = (
    QualityRow("conversations", "Conversations", "Number of chains.", "count"),
    QualityRow("calls", "Calls per conversation", "Mean number of ground-truth calls.", "mean", (">=", 4.5), 5.71),
    QualityRow(
        "dependent_steps",
        "Later steps that depend",
        "Share of all steps but the first of which every call is fed, or that an earlier step enables.",
        "share",
        (">=", 0.85),
    ),
    QualityRow(
        "fed_steps",
        "Later steps that are fed",
        "Share of all steps but the first of which every call takes a value that only an earlier observation shows.",
        "share",
        (">=", 0.65),
        0.2028,
    ),
    QualityRow(
        "dependent_chains",
        "Every later step depends",
        "Share of the chains with two or more steps in which every later step depends.",
        "share",
        (">=", 0.70),
    ),
    QualityRow(
        "path_of_3",
        "Dependent path of 3 steps or more",
        "Share of chains whose longest path of fed or enabled edges has at least 3 steps.",
        "share",
        (">=", 0.40),
    ),
    QualityRow(
        "path_of_4",
        "Dependent path of 4 steps or more",
        "Share of chains whose longest path of fed or enabled edges has at least 4 steps.",
        "share",
        (">=", 0.12),
    ),
    QualityRow(
        "spelled_ids",
        "Opaque ids that the user spells out",
        "Share of the ids in ground-truth arguments, without addresses and paths, in a user turn up to their call's.",
        "share",
        ("<=", 0.20),
    ),
    QualityRow(
        "raw_id_chains",
        "Chains with a raw id in the user's words",
        "Share of chains in which a user turn has an opaque id of a ground-truth argument.",
        "share",
        ("<=", 0.25),
    ),
    QualityRow("tools_shown", "Tools shown", "Mean number of distinct candidate tools.", "mean", (">=", 20), 27.75),
    QualityRow(
        "tools_called",
        "Shown tools that are called",
        "Mean over chains of the share of distinct candidate tools that the ground truth calls.",
        "share",
        ("<=", 0.25),
        0.2037,
    ),
    QualityRow(
        "repeated_tool",
        "Chains that call a tool twice",
        "Share of chains whose ground truth calls some tool more than once.",
        "share",
        (">=", 0.15),
        0.22,
    ),
    QualityRow(
        "parallel_steps", "Steps with several calls", "Share of steps with two or more calls.", "share", (">=", 0.08)
    ),
    *TEXT_ROWS,
    QualityRow(
        "alternatives",
        "Chains with alternatives",
        "Share of chains in which another call can replace a look-up of the ground truth.",
        "share",
    ),
)


def format_value(row: QualityRow, value: float) -> str:
    """Return a value of a row in its unit."""
    return {"count": f"{value:,.0f}", "mean": f"{value:.1f}", "share": f"{value:.1%}", "ratio": f"{value:.2f}"}[
        row.unit
    ]


def format_target(row: QualityRow) -> str:
    """Return the target of a row, such as "≥ 85.0%"; "" where it has none."""
    return f"{SIGNS[row.target[0]]} {format_value(row, row.target[1])}" if row.target else ""


def figures(examples: Iterable[Example]) -> dict[str, float]:
    """Return the value of each of ROWS by name, rounded so that a manifest has the same bytes everywhere."""
    found = measure(examples)
    return {row.name: round(found.value(row), 4) for row in ROWS}


def measure(examples: Iterable[Example]) -> Quality:
    """Return the measures of examples in one pass; only user turns and distinct assistant texts stay in memory."""
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    answers: Counter[str] = Counter()
    features: Counter[str] = Counter()
    turns: list[str] = []
    conversations = 0
    for example in examples:
        answers.update(filter(None, example.answers))
        features.update(set(example.features))
        if example.kind == "chain":
            conversations += 1
            turns += example.turns
            for name, part, total in (*tally_dependence(example), *tally_ids(example), *tally_tools(example)):
                sums[name][0] += part
                sums[name][1] += total
    texts, ngrams = measure_variety(answers), measure_ngrams(turns)
    return Quality(
        conversations=conversations,
        distinct_answers=texts.distinct,
        distinct_masked=texts.masked,
        commonest_masked=texts.commonest,
        distinct_2=ngrams.shares[2],
        distinct_4=ngrams.shares[4],
        common_openings=measure_openings(turns),
        tokens=ngrams.tokens,
        features=dict(sorted(features.items())),
        **{name: part / total for name, (part, total) in sums.items() if total},
    )


def tally_dependence(example: Example) -> Iterator[Tally]:
    """Yield the tallies of a chain's steps: how many later ones depend, and the length of the longest path."""
    found = list(find_feeds(example))
    fed = {(g, call) for g, call, _ in found}
    enabled = {g for _, g in example.enabled}
    later = range(1, len(example.steps))
    is_fed = [all((g, call) in fed for call in range(len(example.steps[g].calls))) for g in later]
    depends = [one or g in enabled for g, one in zip(later, is_fed, strict=True)]
    longest = longest_path(len(example.steps), {*((j, g) for g, _, j in found), *example.enabled})
    yield "fed_steps", sum(is_fed), len(later)
    yield "dependent_steps", sum(depends), len(later)
    yield "dependent_chains", bool(later) and all(depends), bool(later)
    yield "path_of_3", longest >= 3, 1
    yield "path_of_4", longest >= 4, 1


def fed_edges(example: Example) -> Edges:
    """Return the pairs (j, g), sorted, in which step j is the first to show a value that step g cannot get elsewhere.

    The value is in an observation of j and in an argument of g. No user turn up to g, no argument of an earlier step
    and no schema of the tool that g calls has it. Booleans, null, empty strings and integers below 10 do not count. An
    id counts although an earlier call has it if it follows from a comparison of numbers that j shows, or if the user
    corrects that call.
    """
    return tuple(sorted({(j, g) for g, _, j in find_feeds(example)}))


def find_feeds(example: Example) -> Iterator[tuple[int, int, int]]:
    """Yield (step, call in it, earlier step) for each argument value that only the earlier step's observation shows."""
    if "comparison" in example.features:
        yield from find_winners(example)
    observed: dict[Value, int] = {}
    passed: set[Value] = set()
    corrected = find_corrections(example)
    for g, step in enumerate(example.steps):
        said = " ".join(example.turns[: step.turn + 1])
        for number, call in enumerate(step.calls):
            for name, given in (call.arguments or {}).items():
                for value in find_values(given):
                    new = value not in passed or g in corrected
                    new = new and value in observed and value not in find_documented_values(example, call.name)
                    if new and find_said(call.name, name, value, said, example.today) is None:
                        yield g, number, observed[value]
        passed.update(value for call in step.calls for value in find_values(call.arguments))
        if g + 1 < len(example.steps):
            for observation in step.observations:
                observed.update((value, g) for value in find_values(parse(observation)) if value not in observed)


def find_corrections(example: Example) -> set[int]:
    """Return the steps that repeat the previous write in a later turn with one argument changed, as corrections do."""
    found = set()
    writes = [(g, step) for g, step in enumerate(example.steps) if is_write(step.calls[0].name)]
    for (_, before), (g, step) in pairwise(writes) if "correction" in example.features else ():
        one, other = before.calls[0], step.calls[0]
        if len(before.calls) == len(step.calls) == 1 and one.name == other.name and before.turn < step.turn:
            old, new = one.arguments or {}, other.arguments or {}
            if len([name for name in {**old, **new} if old.get(name) != new.get(name)]) == 1:
                found.add(g)
    return found


def is_write(tool: str) -> bool:
    """Return whether a tool writes; an external tool, for which this is unknown, counts as writing."""
    return tool not in TOOLS or TOOLS[tool][1].writes


def find_values(value: Json) -> Iterator[Value]:
    """Yield the numbers and strings in a JSON value that are not trivial."""
    for leaf in single(value):
        small = isinstance(leaf, int) and leaf < LEAST_INTEGER
        if isinstance(leaf, str | int | float) and not isinstance(leaf, bool) and leaf != "" and not small:
            yield leaf


def parse(observation: str) -> Json:
    """Return the JSON value of an observation; a text that is not JSON is returned unchanged."""
    try:
        return json.loads(observation)
    except ValueError:
        return observation


def find_documented_values(example: Example, tool: str) -> frozenset[Value]:
    """Return the values that the input schema of a tool shows: enumerations, defaults and examples."""
    own = (one.parameters for one in example.tools if one.name == tool)
    schema = next(own, None)
    return find_catalogue_values(tool) if schema is None else frozenset(find_schema_values(schema))


@cache
def find_catalogue_values(tool: str) -> frozenset[Value]:
    """Return the values that the input schema of a tool of our servers shows; none for another tool."""
    return frozenset(find_schema_values(TOOLS[tool][1].input_schema) if tool in TOOLS else ())


def find_schema_values(schema: Json) -> Iterator[Value]:
    """Yield the values under `enum`, `const`, `default` and `examples` anywhere in a JSON Schema."""
    if isinstance(schema, list):
        for part in schema:
            yield from find_schema_values(part)
    elif isinstance(schema, dict):
        for key, part in schema.items():
            if key in VALUE_KEYWORDS:
                yield from find_values(part)
            else:  # a property may have the name of a keyword
                named = key in ("properties", "$defs", "definitions") and isinstance(part, dict)
                yield from find_schema_values(list(part.values()) if named else part)


def tally_ids(example: Example) -> Iterator[Tally]:
    """Yield the tallies of a chain's opaque ids that the user says, up to their call or anywhere."""
    ids = [
        (step.turn, value) for step in example.steps for call in step.calls for value in find_opaque_ids(example, call)
    ]
    spelled = [contains_value(" ".join(example.turns[: turn + 1]), value) for turn, value in ids]
    everything = " ".join(example.turns)
    yield "spelled_ids", sum(spelled), len(ids)
    yield "raw_id_chains", any(contains_value(everything, value) for _, value in ids), 1


def find_opaque_ids(example: Example, call: ToolCall) -> Iterator[str]:
    """Yield the opaque ids in a call's arguments: all but e-mail addresses and paths."""
    if call.name not in TOOLS or any(one.name == call.name for one in example.tools):
        return
    types = TOOLS[call.name][1].ids
    for name, argument in (call.arguments or {}).items():
        kind = types.get(name, SPELLED_OUT)
        if kind != SPELLED_OUT and not kind.endswith("Path"):
            yield from (value for value in single(argument) if isinstance(value, str) and value)


def tally_tools(example: Example) -> Iterator[Tally]:
    """Yield the tallies of a chain's calls, their alternatives and candidate tools."""
    called = [call.name for step in example.steps for call in step.calls]
    candidates = set(example.candidates)
    yield "calls", len(called), 1
    yield "tools_shown", len(candidates), 1
    yield "tools_called", len(candidates & set(called)) / max(len(candidates), 1), bool(candidates)
    yield "repeated_tool", len(set(called)) < len(called), 1
    yield "parallel_steps", sum(len(step.calls) > 1 for step in example.steps), len(example.steps)
    yield "alternatives", bool(example.alternatives), 1
