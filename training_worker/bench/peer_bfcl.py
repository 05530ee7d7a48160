"""BFCL's call times, run by its own interpreter: per line on stdin, seconds of a call over 200 ground truths.

The ground truths are multi-turn. There are two numbers: cold, the first pass in a process, as an evaluation runs; and
hot, the same conversations once more in that process, where BFCL reuses its existing instances.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

NAME = "BFCL_v4_multi_turn_base.json"


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def measure() -> None:
    import bfcl_eval
    from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils import execute_multi_turn_func_call

    data = Path(bfcl_eval.__file__).parent / "data"
    truths = {row["id"]: row["ground_truth"] for row in read_json_lines(data / "possible_answer" / NAME)}
    entries = read_json_lines(data / NAME)

    def one_pass() -> float:
        calls, start = 0, time.perf_counter()
        for entry in entries:
            for turn in truths[entry["id"]]:
                config, classes = entry["initial_config"], entry["involved_classes"]
                execute_multi_turn_func_call(turn, config, classes, "bench", entry["id"])
                calls += len(turn)
        return (time.perf_counter() - start) / calls

    print(one_pass(), one_pass(), flush=True)


def main() -> None:
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            measure()
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
