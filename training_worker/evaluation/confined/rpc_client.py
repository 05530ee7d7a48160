"""RPC client for a confined process: requests and answers in JSON lines, within limits of time and size."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
START = 120.0  # seconds to import a benchmark
MOST_BYTES = 16_000_000
CHUNK = 1 << 16


class ChildFailed(Exception):
    """A failure of a benchmark's process or code; the message says what is known. The policy did not cause it."""


class LimitReached(Exception):
    """Calls of the policy exceeded the limits of time or output size; the process was ended."""


class Child:
    """One process of a benchmark's interpreter, with an empty environment; close it, or let it end with the parent.

    `name` is the benchmark's, for messages; `runner` is the module that its interpreter runs. Each answer may take
    `seconds`, and the start up to START. Raises ChildFailed when it does not start.
    """

    def __init__(self, name: str, runner: str, python: Path, seconds: float):
        if not python.exists():
            raise ChildFailed(f"{python} does not exist")
        self.name = name
        self.process = subprocess.Popen(
            [str(python), "-s", "-B", "-W", "ignore", "-m", runner],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT)},
            start_new_session=True,  # only the parent should receive Ctrl-C
        )
        self.seconds = START
        try:
            self.call({"do": "start"})
        except LimitReached:
            raise ChildFailed(f"{name}'s process does not start") from None
        self.seconds = seconds

    def call(self, request: dict[str, Any], reply: Callable[[Any], Any] | None = None) -> Any:
        """Send a request and return the answer; `reply` answers questions that the process asks meanwhile.

        Raises ChildFailed or LimitReached; after either, the process is gone.
        """
        answer = self.exchange(request)
        while reply and "ask" in answer:
            answer = self.exchange({"reply": reply(answer["ask"])})
        if "error" in answer:
            self.close()  # its state is not known
            raise ChildFailed(f"{self.name}'s own code failed: {answer['error']}")
        return answer["answer"]

    def exchange(self, line: dict[str, Any]) -> dict[str, Any]:
        """Send one line and return the next one."""
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps(line).encode() + b"\n")
            self.process.stdin.flush()
            return dict(json.loads(self.line(self.seconds)))
        except (OSError, ValueError):
            self.close()
            raise ChildFailed(f"{self.name}'s process ended unexpectedly") from None
        except LimitReached:
            self.close()
            raise

    def line(self, seconds: float) -> bytes:
        """Return the next line of output. Raises ValueError at its end, and LimitReached."""
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
                continue  # unsent data
        self.process.wait()
