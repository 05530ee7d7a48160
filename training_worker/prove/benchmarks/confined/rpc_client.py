"""The parent's side of a confined process: questions and answers in JSON lines, within limits of time and size."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[4]
START = 120.0  # seconds to import a benchmark
MOST_BYTES = 16_000_000
CHUNK = 1 << 16


class ChildFailed(Exception):
    """A benchmark's process broke, or its code raised; says what is known. It is no fault of the policy."""


class LimitReached(Exception):
    """What the policy asked for takes too much time or room; the process was ended."""


class Child:
    """One process of a benchmark's interpreter, with an empty environment; close it, or let it end with us.

    `name` is the benchmark's, for what is told; `runner` is the module that its interpreter runs. Each answer may take
    `seconds`, and the start much more. Raises ChildFailed when it does not start.
    """

    def __init__(self, name: str, runner: str, python: Path, seconds: float):
        if not python.exists():
            raise ChildFailed(f"{python} is not there")
        self.name = name
        self.process = subprocess.Popen(
            [str(python), "-s", "-B", "-W", "ignore", "-m", runner],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT)},
            start_new_session=True,  # Ctrl-C is for the parent to answer
        )
        self.seconds = START
        try:
            self.call({"do": "start"})
        except LimitReached:
            raise ChildFailed(f"{name}'s process does not start") from None
        self.seconds = seconds

    def call(self, asked: dict[str, Any], reply: Callable[[Any], Any] | None = None) -> Any:
        """Its answer; what it asks back meanwhile gets the `reply`.

        Raises ChildFailed or LimitReached; after either the process is gone.
        """
        answer = self.exchange(asked)
        while reply and "ask" in answer:
            answer = self.exchange({"reply": reply(answer["ask"])})
        if "error" in answer:
            self.close()  # its state is not known
            raise ChildFailed(f"{self.name}'s own code broke: {answer['error']}")
        return answer["answer"]

    def exchange(self, line: dict[str, Any]) -> dict[str, Any]:
        """One line for one line."""
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps(line).encode() + b"\n")
            self.process.stdin.flush()
            return dict(json.loads(self.line(self.seconds)))
        except (OSError, ValueError):
            self.close()
            raise ChildFailed(f"{self.name}'s process ended by itself") from None
        except LimitReached:
            self.close()
            raise

    def line(self, seconds: float) -> bytes:
        """The next line of its output; a ValueError when there is none."""
        assert self.process.stdout
        pipe, size, deadline = self.process.stdout.fileno(), 0, time.monotonic() + seconds
        parts: list[bytes] = []
        while not parts or not parts[-1].endswith(b"\n"):
            if not select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise LimitReached(f"its calls took more than {seconds:g} s")
            parts.append(os.read(pipe, CHUNK))
            size += len(parts[-1])
            if not parts[-1]:
                raise ValueError
            if size > MOST_BYTES:
                raise LimitReached(f"its calls gave more than {MOST_BYTES:,} bytes")
        return b"".join(parts)

    def close(self) -> None:
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe
            try:
                pipe.close()
            except OSError:
                continue  # what was not sent yet
        self.process.wait()
