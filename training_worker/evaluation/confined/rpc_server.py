"""RPC server inside a confined process: requests line by line, answers, and questions to the parent."""

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

SECONDS = 60  # per answer, in case the parent is gone

Doing = dict[str, Callable[[dict[str, Any]], Any]]


class Parent:
    """The connection to the parent process. Created before other imports, so that their prints are not answers."""

    def __init__(self) -> None:
        self.answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def send_message(self, value: dict[str, Any]) -> None:
        self.answers.write(json.dumps(value, default=str) + "\n")
        self.answers.flush()

    def call(self, question: Any) -> Any:
        """Return the parent's reply; waits without a limit."""
        signal.alarm(0)
        self.send_message({"ask": question})
        line = sys.stdin.readline()
        signal.alarm(SECONDS)
        return json.loads(line)["reply"]

    def serve(self, start: Callable[[], Doing]) -> None:
        """Answer requests until the parent is gone; the first is `start`. An exception is answered as an error."""
        doing: Doing = {}
        while line := sys.stdin.readline():
            request = json.loads(line)
            try:
                if request["do"] == "start":
                    doing, answer = start(), True
                else:
                    signal.alarm(SECONDS)
                    answer = doing[request["do"]](request)
                self.send_message({"answer": answer})
            except Exception as error:
                self.send_message({"error": f"{type(error).__name__}: {error}"[:500]})
            signal.alarm(0)
