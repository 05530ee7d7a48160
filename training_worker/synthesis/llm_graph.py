"""The paper's graph construction: a language model classifies for each pair of tools whether one needs the other.

Each unordered pair of a server's tools is one request for both directions, n(n-1)/2 requests (paper, section 2,
step 1).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from mcp_servers.catalogue import SERVERS, TOOLS

from ..chat.schemas import tool_schema
from ..core.trajectory import Message
from ..endpoint import Endpoint
from ..endpoint.structured_output import TRIES, request_json
from .dataset import Progress

Dependency = Literal["explicit", "implicit", "none"]
Pair = tuple[str, str]  # names of tools: the first one runs before the second

RULES = """You classify how two tools of one service depend on each other. For each direction say
"explicit" if an output of the first is a required input of the second,
"implicit" if the first must run before the second can work, to set up a state, though it gives it no input,
"none" otherwise.
Answer with JSON only: {"a_to_b": "...", "b_to_a": "..."}"""


@dataclass(frozen=True)
class Verdict:
    """The model's classification of tools A and B in both directions."""

    a_to_b: Dependency
    b_to_a: Dependency


def classify(
    servers: Iterable[str],
    endpoint: Endpoint,
    progress: Progress = lambda done, total: None,
    tries: int = TRIES,
) -> dict[Pair, Dependency | None]:
    """Classify every ordered pair within each server; None where no try gave valid JSON.

    Raises EndpointFailed; earlier answers stay in the cache.
    """
    pairs = [pair for server in servers for pair in combinations(SERVERS[server].tools, 2)]
    said: dict[Pair, Dependency | None] = {}
    pool = ThreadPoolExecutor(endpoint.settings.parallel)
    try:
        verdicts = pool.map(lambda pair: request_json(endpoint, question(*pair), Verdict, tries=tries).value, pairs)
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
    """Return a tool's schema with its output schema as JSON."""
    fields: dict[str, Any] = tool_schema(name)["function"] | {"returns": TOOLS[name][1].output_schema}
    return json.dumps(fields, ensure_ascii=False)
