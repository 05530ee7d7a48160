"""Run by BFCL's own interpreter: calls a second over its 200 multi-turn ground truths, once for each line on stdin.

Cold, as an evaluation runs: every conversation on instances of its own.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import bfcl_eval
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils import execute_multi_turn_func_call

DATA = Path(bfcl_eval.__file__).parent / "data"
NAME = "BFCL_v4_multi_turn_base.json"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def main() -> None:
    truths = {row["id"]: row["ground_truth"] for row in rows(DATA / "possible_answer" / NAME)}
    entries = rows(DATA / NAME)
    for number, _ in enumerate(sys.stdin):
        calls, start = 0, time.perf_counter()
        for entry in entries:
            for turn in truths[entry["id"]]:
                config, classes = entry["initial_config"], entry["involved_classes"]
                execute_multi_turn_func_call(turn, config, classes, f"bench{number}", entry["id"])
                calls += len(turn)
        print((time.perf_counter() - start) / calls, flush=True)


if __name__ == "__main__":
    main()
