"""A policy that answers one conversation after another, as JSON lines: for evaluation by who does not load torch.

`python -m training_worker.trainer.speaking FOLDER --temperature 0 --answer 512`; FOLDER is what `load_policy`
reads, or a checkpoint. The first line says which format it writes calls in, or why there is no policy.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ..prove.trajectory import Message, UnreadableData
from .backends import Asked, backend_for
from .conversation import prompt_ids
from .families import family_of
from .models import weights_digest
from .policy import Policy, load_policy
from .run_folder import PROGRESS

MOST_ROOM = "max_position_embeddings"


class Speaking:
    """A loaded policy. The same conversation is answered alike, whatever was asked before."""

    def __init__(self, policy: Policy, temperature: float, answer: int):
        self.model, self.tokenizer = policy.model.eval(), policy.tokenizer
        self.temperature, self.answer = temperature, answer
        self.room = int(getattr(self.model.config, MOST_ROOM, 0)) or sys.maxsize

    def reply(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """The next text and the tokens it took; or that the conversation is longer than the model reads."""
        ids = prompt_ids(self.tokenizer, messages, tools)
        most = min(self.answer, self.room - len(ids))
        if most < 1:
            return {"out_of_room": f"the conversation has {len(ids):,} tokens and the model reads {self.room:,}"}
        seed = int.from_bytes(hashlib.sha256(str(ids).encode()).digest()[:6], "big")
        generator = torch.Generator(self.model.device).manual_seed(seed)
        backend = backend_for(self.model, self.tokenizer, temperature=self.temperature, generator=generator)
        try:
            backend.ask(Asked(0, ids, messages, tools, most))
            (turn,) = backend.step()
        finally:
            backend.close()
        said = list(turn.ids[:-1] if turn.ids and turn.ids[-1] in family_of(self.tokenizer).stop else turn.ids)
        return {"text": str(self.tokenizer.decode(said)), "tokens": len(ids) + len(turn.ids)}


def shortened(digest: str) -> str:
    return hashlib.sha256(digest.encode()).hexdigest()[:16]


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Answer conversations in JSON lines.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--answer", type=int, default=512, help="most tokens of an answer")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    return parser.parse_args(arguments)


def main() -> None:
    given, answers = options(), os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer

    def say(answer: dict[str, Any]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        device = "cuda" if given.device != "cpu" and torch.cuda.is_available() else "cpu"
        dtype = torch.bfloat16 if device == "cuda" else torch.float32
        policy = load_policy(given.folder, dtype, needs_card=not (given.folder / PROGRESS).is_file())
        policy.model.to(device)
        weights = shortened(weights_digest(given.folder))
        say({"format": type(family_of(policy.tokenizer).format).__name__, "weights": weights})
    except UnreadableData as reason:
        say({"error": str(reason)})
        return
    speaking = Speaking(policy, given.temperature, given.answer)
    for line in sys.stdin:
        asked = json.loads(line)
        with torch.inference_mode():
            say(speaking.reply([Message(**one) for one in asked["messages"]], asked["tools"]))


if __name__ == "__main__":
    main()
