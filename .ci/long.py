"""Run what `make test` leaves out, in parts: `long.py` runs all, `long.py pages` one, `long.py next` one by turns.

CI runs one by turns after `make test`. It follows the number of commits, so that every part has its turn within a few
submissions.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[1]
PYTEST = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadscope"]
ON_POSTGRESQL, LONG = "postgresql", ["-m", "long"]
TRAINING = ("tests/trainer", "tests/worker", "tests/site")
PARTS = {
    "pages": [*LONG, "tests/browser"],
    "training": [*LONG, *TRAINING],
    "others": [*LONG, "tests", *(f"--ignore={folder}" for folder in ("tests/browser", *TRAINING))],
    # The plans of test_plans.py are those of a fresh database: test_on_postgresql.py, one of the others, runs it.
    ON_POSTGRESQL: ["-m", "not long", "tests/prove_web", "--ignore=tests/prove_web/test_plans.py"],
}


def next_part() -> str:
    """Return the part whose turn it is."""
    counted = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return list(PARTS)[int(counted.stdout or 0) % len(PARTS)]


@contextmanager
def database() -> Iterator[str]:
    """Start a PostgreSQL server; give the address of its database, or "" where none is installed."""
    sys.path.insert(0, str(ROOT))
    from tests.prove_web.postgres import BIN, PASSWORD, server

    if BIN is None:
        yield ""
        return
    with server() as folder:
        yield f"postgres://prove:{PASSWORD}@{quote(str(folder), safe='')}/postgres"


def run(part: str) -> int:
    """Run one part; return pytest's exit code."""
    print(f"test-long: {part}", flush=True)
    environment = dict(os.environ)
    with ExitStack() as stack:
        if part == ON_POSTGRESQL:
            environment["PROVE_TEST_DATABASE"] = stack.enter_context(database())
            if not environment["PROVE_TEST_DATABASE"]:
                print("test-long: PostgreSQL's server is not installed; install postgresql to run this part")
                return 0
        return subprocess.run([*PYTEST, *PARTS[part]], cwd=ROOT, env=environment).returncode


def main(wanted: list[str]) -> int:
    parts = [next_part() if name == "next" else name for name in wanted or PARTS]
    if unknown := [name for name in parts if name not in PARTS]:
        print(f"There is no part {unknown[0]!r}; the parts are {', '.join(PARTS)}, and next.", file=sys.stderr)
        return 2
    failed = [part for part in parts if run(part) != 0]
    print(f"test-long: failed: {', '.join(failed)}" if failed else f"test-long: {', '.join(parts)}: green")
    return 1 if failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # which stops the database, too
    sys.exit(main(sys.argv[1:]))
