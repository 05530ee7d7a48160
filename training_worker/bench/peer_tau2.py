"""tau2-bench's times, run by its own interpreter with its checkout as argument.

For each line on stdin it prints the seconds of one call over the ground truths of its retail tasks, of loading the
environment, and of hashing its state.
"""

import json
import os
import sys
import time
from pathlib import Path


def main(checkout: Path) -> None:
    sys.path.insert(0, str(checkout / "src"))
    os.environ["TAU2_DATA_DIR"] = str(checkout / "data")
    from loguru import logger
    from tau2.data_model.message import ToolCall
    from tau2.domains.retail.environment import get_environment

    logger.remove()
    tasks = json.loads((checkout / "data" / "tau2" / "domains" / "retail" / "tasks.json").read_text("utf-8"))
    actions = [action for task in tasks for action in task["evaluation_criteria"]["actions"] or []]
    calls = [ToolCall(name=action["name"], arguments=action["arguments"]) for action in actions]
    for _ in sys.stdin:
        start = time.perf_counter()
        environment = get_environment()
        loaded = time.perf_counter()
        for call in calls:
            environment.get_response(call)
        done = time.perf_counter()
        environment.get_db_hash()
        hashed = time.perf_counter()
        print((done - loaded) / len(calls), loaded - start, hashed - done, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
