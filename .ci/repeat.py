"""Run the suite several times and tell which tests fail at times: `repeat.py 10 --busy 3`.

Each run is a line in data/test-repeat/log.jsonl and a file with its output beside it. Interrupted, the same command
goes on where it was, as long as the sources are the same. Of `--busy` runs both cores are kept busy by other work.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "data" / "test-repeat"
LOG = FOLDER / "log.jsonl"
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.M)
SUMMARY = re.compile(r"^=* ?(\d+ (?:passed|failed).*?in [\d.]+s.*?) ?=*$", re.M)


def sources() -> str:
    """Return a digest of the commit and of what differs from it."""
    said = [subprocess.run(["git", *words], cwd=ROOT, capture_output=True).stdout for words in (
        ["rev-parse", "HEAD"], ["diff", "HEAD"], ["status", "--porcelain"])]  # fmt: skip
    return hashlib.sha256(b"\0".join(said)).hexdigest()[:12]


def done(key: str) -> list[dict[str, object]]:
    lines = LOG.read_text("utf-8").splitlines() if LOG.exists() else []
    return [run for run in map(json.loads, lines) if run["sources"] == key]


@contextmanager
def other_work(wanted: bool) -> Iterator[None]:
    """Keep every core busy with a process of low priority."""
    cores = os.cpu_count() or 2 if wanted else 0
    loops = [subprocess.Popen(["nice", "sh", "-c", "while :; do :; done"]) for _ in range(cores)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def run(number: int, key: str, busy: bool, words: list[str]) -> dict[str, object]:
    """Run the suite once and write down how it went."""
    output, began = FOLDER / f"{key}-{number:02d}.log", time.monotonic()
    with output.open("wb") as file, other_work(busy):
        command = ["make", "--no-print-directory", "test", f"ARGS={' '.join(words)}"]
        code = subprocess.run(command, cwd=ROOT, stdout=file, stderr=file).returncode
    text = output.read_text("utf-8", "replace")
    summary = SUMMARY.findall(text)
    result = {
        "sources": key,
        "run": number,
        "busy": busy,
        "exit": code,
        "seconds": round(time.monotonic() - began),
        "summary": summary[-1] if summary else "ended without a summary",
        "failed": sorted(set(FAILED.findall(text))),
    }
    with LOG.open("a", encoding="utf-8") as log:
        log.write(json.dumps(result) + "\n")
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times", type=int, nargs="?", default=10, help="runs in all (default 10)")
    parser.add_argument("--busy", type=int, default=0, help="the last so many of them with both cores kept busy")
    parser.epilog = "What comes after -- is passed to pytest."
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given, words = parser.parse_args(sys.argv[1:end]), sys.argv[end + 1 :]
    FOLDER.mkdir(parents=True, exist_ok=True)
    key = sources()
    earlier = done(key)
    if earlier:
        print(f"{len(earlier)} runs of these sources are done; {LOG.relative_to(ROOT)} has them.", flush=True)
    runs = list(earlier)
    for number in range(len(earlier) + 1, given.times + 1):
        one = run(number, key, number > given.times - given.busy, words)
        runs.append(one)
        print(f"{number:3d} {'busy ' if one['busy'] else ''}{one['seconds']} s: {one['summary']}", flush=True)
        for name in one["failed"]:
            print(f"      failed: {name}", flush=True)
    failures = Counter(name for one in runs for name in one["failed"])  # type: ignore[attr-defined]
    for name, times in failures.most_common():
        print(f"{times} of {len(runs)} runs: {name}")
    green = sum(one["exit"] == 0 for one in runs)
    print(f"{green} of {len(runs)} runs are green.")
    return 0 if green == len(runs) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nStopped. The same command goes on from here.")
        sys.exit(130)
