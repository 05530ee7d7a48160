"""The inside of a confined process: what it is asked line by line, what it answers, and what it asks back."""

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

SECONDS = 60  # for one answer, should the parent be gone

Doing = dict[str, Callable[[dict[str, Any]], Any]]


class Parent:
    """Whoever started this process. Made before anything else is imported: whatever others print is no answer."""

    def __init__(self) -> None:
        self.answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def say(self, value: dict[str, Any]) -> None:
        self.answers.write(json.dumps(value, default=str) + "\n")
        self.answers.flush()

    def call(self, question: Any) -> Any:
        """The parent's reply, however long that takes."""
        signal.alarm(0)
        self.say({"ask": question})
        line = sys.stdin.readline()
        signal.alarm(SECONDS)
        return json.loads(line)["reply"]

    def serve(self, start: Callable[[], Doing]) -> None:
        """Answer until the parent is gone, which first asks to `start`. What raises is answered with an error."""
        doing: Doing = {}
        while line := sys.stdin.readline():
            asked = json.loads(line)
            try:
                if asked["do"] == "start":
                    doing, answer = start(), True
                else:
                    signal.alarm(SECONDS)
                    answer = doing[asked["do"]](asked)
                self.say({"answer": answer})
            except Exception as error:
                self.say({"error": f"{type(error).__name__}: {error}"[:500]})
            signal.alarm(0)
