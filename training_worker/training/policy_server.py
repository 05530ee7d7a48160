"""A policy that answers conversations over JSON lines in batches, for evaluation by callers without torch.

`python -m training_worker.training.policy_server FOLDER --temperature 0 --answer 512`; FOLDER is what `load_policy`
reads, or a checkpoint. The first output line has the format of its calls, or the reason why there is no policy.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, TextIO

import torch

from ..core.trajectory import Message, UnreadableData
from ..policy.conversation import prompt_ids
from ..policy.model_families import family_of
from ..policy.models import weights_digest
from ..policy.policy_folder import Policy, load_policy
from ..rollout.backends import GenerationRequest, backend_for
from .run_folder import PROGRESS

MOST_ROOM = "max_position_embeddings"
ROWS = 16  # the most conversations answered together


@dataclass(frozen=True)
class ChatRequest:
    """A conversation that waits for its next text; the caller chooses the id, and further trials sample differently."""

    id: int
    messages: Sequence[Message]
    tools: Sequence[dict[str, Any]]
    trial: int = 1


class PolicyServer:
    """A loaded policy. The same conversation gets the same answer, whatever was requested before."""

    def __init__(self, policy: Policy, temperature: float, answer: int):
        self.model, self.tokenizer = policy.model.eval(), policy.tokenizer
        self.temperature, self.answer = temperature, answer
        self.room = int(getattr(self.model.config, MOST_ROOM, 0)) or sys.maxsize

    def replies(self, waiting: Sequence[ChatRequest]) -> Iterator[dict[str, Any]]:
        """Yield the next text of each conversation when it ends, with its tokens.

        A conversation longer than the model's context is reported as such. Sampled conversations are answered one by
        one, because their seed depends on conversation and trial.
        """
        together = list[GenerationRequest]()
        for one in waiting:
            ids = prompt_ids(self.tokenizer, one.messages, one.tools)
            most = min(self.answer, self.room - len(ids))
            if most < 1:
                long = f"the conversation has {len(ids):,} tokens and the model reads {self.room:,}"
                yield {"id": one.id, "out_of_room": long}
                continue
            request = GenerationRequest(one.id, ids, one.messages, one.tools, most)
            if self.temperature == 0:
                together.append(request)
            else:
                yield from self.generate([request], seed_of(ids, one.trial))
        if together:
            yield from self.generate(together, 0)

    def generate(self, requests: Sequence[GenerationRequest], seed: int) -> Iterator[dict[str, Any]]:
        """Yield the answers of one batch."""
        generator = torch.Generator(self.model.device).manual_seed(seed)
        backend = backend_for(self.model, self.tokenizer, temperature=self.temperature, generator=generator)
        stop, left = family_of(self.tokenizer).stop, len(requests)
        try:
            for place, one in enumerate(requests):
                backend.submit(replace(one, row=place))  # sampling depends on the row, so not on the caller's id
            while left:
                for turn in backend.step():
                    said = list(turn.ids[:-1] if turn.ids and turn.ids[-1] in stop else turn.ids)
                    one, text = requests[turn.row], str(self.tokenizer.decode(said))
                    backend.drop(turn.row)
                    left -= 1
                    yield {"id": one.row, "text": text, "tokens": len(one.ids) + len(turn.ids)}
        finally:
            backend.close()


def seed_of(ids: Sequence[int], trial: int) -> int:
    """Return the sampling seed of a text: it depends on the ids of its conversation and on the trial."""
    text = str(ids) if trial == 1 else f"{ids}#{trial}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


def read_requests(lines: TextIO, waiting: SimpleQueue[ChatRequest | None]) -> None:
    """Queue every request as it arrives; None marks the end, also if a request cannot be read."""
    try:
        for line in lines:
            fields = json.loads(line)
            messages = [Message(**one) for one in fields["messages"]]
            waiting.put(ChatRequest(fields["id"], messages, fields["tools"], fields["trial"]))
    finally:
        waiting.put(None)


def batches(waiting: SimpleQueue[ChatRequest | None]) -> Iterator[list[ChatRequest]]:
    """Yield batches of waiting requests, as soon as there is one."""
    while (first := waiting.get()) is not None:
        batch = [first]
        while len(batch) < ROWS and not waiting.empty():
            following = waiting.get()
            if following is None:
                yield batch
                return
            batch.append(following)
        yield batch


def shorten_digest(digest: str) -> str:
    return hashlib.sha256(digest.encode()).hexdigest()[:16]


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Answer conversations over JSON lines.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--answer", type=int, default=512, help="maximum tokens of an answer")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    return parser.parse_args(arguments)


def main() -> None:
    given, answers = options(), os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # keep library output out of the answers

    def write_answer(answer: dict[str, Any]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        device = "cuda" if given.device != "cpu" and torch.cuda.is_available() else "cpu"
        dtype = torch.bfloat16 if device == "cuda" else torch.float32
        policy = load_policy(given.folder, dtype, needs_card=not (given.folder / PROGRESS).is_file())
        policy.model.to(device)
        weights = shorten_digest(weights_digest(given.folder))
        write_answer({"format": type(family_of(policy.tokenizer).format).__name__, "weights": weights})
    except UnreadableData as reason:
        write_answer({"error": str(reason)})
        return
    speaking = PolicyServer(policy, given.temperature, given.answer)
    waiting = SimpleQueue[ChatRequest | None]()
    Thread(target=read_requests, args=(sys.stdin, waiting), daemon=True).start()
    for batch in batches(waiting):
        with torch.inference_mode():
            for answer in speaking.replies(batch):
                write_answer(answer)


if __name__ == "__main__":
    main()
