"""Stand-alone dataset synthesis: `python -m training_worker.synthesis --count 1000 --out train.jsonl`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mcp_servers.catalogue import SERVERS

from ..core.terminal import show_count_bar
from ..core.trajectory import write_lines
from ..graph.dependency_graph import build
from .conversation import Recipe
from .dataset import synthesize
from .knobs import TINY


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m training_worker.synthesis", description=__doc__)
    parser.add_argument("--count", type=int, default=1_000, help="conversations to make")
    parser.add_argument("--out", type=Path, required=True, help="file of JSON lines to write")
    parser.add_argument("--servers", default=",".join(SERVERS), help="comma-separated; all by default")
    parser.add_argument("--split", choices=("train", "held_out"), default="train")
    parser.add_argument("--seed", type=int, choices=range(40), default=0, metavar="0..39", help="selects the worlds")
    parser.add_argument(
        "--candidates",
        type=int,
        choices=range(5, 100),
        default=TINY.most,
        metavar="5..99",
        help="maximum number of tools offered per conversation",
    )
    options = parser.parse_args(argv)
    servers = options.servers.split(",")
    if unknown := [name for name in servers if name not in SERVERS]:
        parser.error(f"unknown server {unknown[0]!r}; known servers: {', '.join(SERVERS)}")
    recipe = Recipe(options.seed, knobs=replace(TINY, most=options.candidates))

    with show_count_bar("conversations") as progress:
        examples, report = synthesize(options.count, options.split, build(servers=servers), recipe, progress)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    write_lines(options.out, examples)
    by_kind = ", ".join(f"{count:,} {kind}" for kind, count in sorted(report.kinds.items()))
    print(f"{len(examples):,} conversations in {options.out}: {by_kind}.")
    if lack := report.shortfall():
        print(lack, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
