"""The paper's way to a graph: a language model says of each pair of tools whether one needs the other first.

For each unordered pair of tools of a server both directions are asked for at once, n(n-1)/2 questions. (Paper, section
2, step 1.)
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from mcp_servers.catalogue import SERVERS, TOOLS

from ..schemas import tool_schema
from ..trajectory import Message
from .dataset import Progress
from .endpoint import Endpoint
from .endpoint.structured_output import TRIES, ask

Dependency = Literal["explicit", "implicit", "none"]
Pair = tuple[str, str]  # names of tools: the first one runs before the second

RULES = """You classify how two tools of one service depend on each other. For each direction say
"explicit" if an output of the first is a required input of the second,
"implicit" if the first must run before the second can work, to set up a state, though it gives it no input,
"none" otherwise.
Answer with JSON only: {"a_to_b": "...", "b_to_a": "..."}"""


@dataclass(frozen=True)
class Verdict:
    """What the model is asked to say of tools A and B."""

    a_to_b: Dependency
    b_to_a: Dependency


def classify(
    servers: Iterable[str],
    endpoint: Endpoint,
    progress: Progress = lambda done, total: None,
    tries: int = TRIES,
) -> dict[Pair, Dependency | None]:
    """What the model says of every ordered pair within each server; None where it did not find the form in all tries.

    Raises EndpointFailed; answers so far stay on disk.
    """
    pairs = [pair for server in servers for pair in combinations(SERVERS[server].tools, 2)]
    said: dict[Pair, Dependency | None] = {}
    pool = ThreadPoolExecutor(endpoint.settings.parallel)
    try:
        verdicts = pool.map(lambda pair: ask(endpoint, question(*pair), Verdict, tries=tries).value, pairs)
        for done, ((a, b), verdict) in enumerate(zip(pairs, verdicts, strict=True), 1):
            said[a, b] = verdict.a_to_b if verdict else None
            said[b, a] = verdict.b_to_a if verdict else None
            progress(done, len(pairs))
    finally:
        pool.shutdown(cancel_futures=True)
    return said


def question(a: str, b: str) -> tuple[Message, ...]:
    return Message("system", RULES), Message("user", f"A: {format_tool(a)}\nB: {format_tool(b)}")


def format_tool(name: str) -> str:
    """A tool with what it takes and gives."""
    told: dict[str, Any] = tool_schema(name)["function"] | {"returns": TOOLS[name][1].output_schema}
    return json.dumps(told, ensure_ascii=False)
