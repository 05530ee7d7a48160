"""Policy from a checkpoint folder, in a child process that answers in JSON lines; this process never imports torch."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future
from itertools import count
from pathlib import Path
from threading import Lock, Thread
from types import TracebackType
from typing import Any

from ..chat.formats import FORMATS
from ..core.trajectory import Message
from .protocol import NotRun, OutOfRoom, Policy, Style

SPEAKER = "training_worker.training.policy_server"
ROOT = Path(__file__).parents[2]
CONFIGS = ("config.json", "adapter_config.json")
ENDED = "the model's process ended unexpectedly; it may have run out of memory"


class NoPolicy(Exception):
    """A folder that holds no usable policy; the message says why."""


class Local:
    """The child process of one folder. Thread-safe. Use it as a context manager. Raises NoPolicy."""

    def __init__(self, folder: Path, temperature: float = 0.0, answer: int = 512):
        if not any((folder / name).is_file() for name in CONFIGS):
            raise NoPolicy(f"{folder} cannot be evaluated: it has none of {', '.join(CONFIGS)}. Name a model's folder.")
        self.folder, self.temperature, self.answer, self.lock = folder, temperature, answer, Lock()
        self.numbers, self.waiting, self.ended = count(), dict[int, Future[dict[str, Any]]](), False
        self.hearing: Thread | None = None
        arguments = [str(folder.absolute()), f"--temperature={temperature}", f"--answer={answer}"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", SPEAKER, *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # only the parent should receive Ctrl-C
        )
        assert self.process.stdin and self.process.stdout
        self.said, self.heard = self.process.stdout, self.process.stdin
        greeting = json.loads(self.said.readline() or '{"error": "its process ended unexpectedly"}')
        if "error" in greeting:
            self.close()
            raise NoPolicy(f"{folder} cannot be evaluated: {greeting['error']}")
        self.weights = str(greeting["weights"])
        self.format = next(one for one in FORMATS if type(one).__name__ == greeting["format"])
        self.hearing = Thread(target=self.deliver_answers, daemon=True)
        self.hearing.start()

    def __enter__(self) -> Local:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.hearing:
            self.hearing.join()
        self.said.close()
        try:
            self.heard.close()
        except OSError:
            return  # unsent data

    def request_answer(
        self, messages: Sequence[Message], tools: Sequence[dict[str, Any]], trial: int = 1
    ) -> dict[str, Any]:
        """Request an answer; the sample depends on the conversation and the trial alone. Raises NotRun."""
        said = [{"role": one.role, "content": one.content} for one in messages]
        number, answer = next(self.numbers), Future[dict[str, Any]]()
        line = json.dumps({"id": number, "messages": said, "tools": list(tools), "trial": trial}) + "\n"
        try:
            with self.lock:
                if self.ended:
                    raise OSError
                self.waiting[number] = answer
                self.heard.write(line)
                self.heard.flush()
        except OSError:
            raise NotRun(ENDED) from None
        return answer.result()

    def deliver_answers(self) -> None:
        """Deliver each answer to its caller until the process ends, then fail the callers that still wait."""
        for line in self.said:
            try:
                answer = dict(json.loads(line))
                self.waiting.pop(answer["id"]).set_result(answer)
            except (ValueError, KeyError):
                break  # a truncated line: the process is gone
        with self.lock:
            self.ended = True
            for answer_to in self.waiting.values():
                answer_to.set_exception(NotRun(ENDED))

    def policy(self, style: Style = "tools", model: str = "") -> Policy:
        """Return the policy, identified by its weights, not their path; its name is `model` or that of the folder."""
        return Policy(
            model=model or self.folder.name,
            speak=lambda item: CheckpointChatModel(self, item.trial),
            style=style,
            format=self.format,
            sampling={"temperature": self.temperature, "max_tokens": self.answer, "weights": self.weights},
        )


class CheckpointChatModel:
    """The checkpoint's chat model for one conversation."""

    def __init__(self, local: Local, trial: int = 1):
        self.local, self.trial, self.tokens = local, trial, 0

    def reply(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> str:
        answer = self.local.request_answer(messages, tools, self.trial)
        if "out_of_room" in answer:
            raise OutOfRoom(answer["out_of_room"])
        self.tokens += int(answer["tokens"])
        return str(answer["text"])
