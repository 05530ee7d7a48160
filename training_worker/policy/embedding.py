"""A sentence-embedding model that computes text similarities over JSON lines, for callers without torch.

`python -m training_worker.policy.embedding FOLDER`; FOLDER is a model as sentence-transformers saves it, with its
weights as safetensors: a transformer, the mean over its tokens, and no further layer except a normalisation (Reimers
and Gurevych, arXiv 1908.10084). The first output line has the model's digest, or the reason why it cannot be used.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoModel, AutoTokenizer

from ..core.trajectory import UnreadableData, file_digest
from .models import UnreadablePolicy, check_folder, read_json, weight_files

BATCH, DECIMALS = 32, 6
POOLING, MODULES, LENGTH = "1_Pooling/config.json", "modules.json", "sentence_bert_config.json"
LAYERS = ("Transformer", "Pooling", "Normalize")


class Sentences:
    """A loaded sentence-embedding model. Raises UnreadableData."""

    def __init__(self, folder: Path):
        check_folder(folder)
        check_layers(folder)
        try:
            self.model, found = AutoModel.from_pretrained(
                folder,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                dtype=torch.float32,
                output_loading_info=True,
            )
            self.tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        except (SafetensorError, OSError, ValueError, KeyError, RuntimeError) as error:
            raise UnreadablePolicy(f"transformers cannot load it: {str(error)[:300]}") from None
        if lost := sorted(name for name in found["missing_keys"] if not name.startswith("pooler.")):
            raise UnreadablePolicy(f"the weights {', '.join(lost[:3])} are missing. Copy the whole folder again.")
        if self.tokenizer.pad_token is None or not self.tokenizer("")["input_ids"]:
            raise UnreadablePolicy("its tokenizer has no padding token, or encodes an empty text as no token.")
        self.model.eval()
        self.most = min(longest(folder), self.model.config.max_position_embeddings, self.tokenizer.model_max_length)
        self.digest = digest_of(folder)

    def embed_texts(self, texts: Sequence[str]) -> torch.Tensor:
        """Return unit vectors (texts, width) in double precision: the mean over the tokens of each text."""
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        return torch.nn.functional.normalize(torch.cat([self.pool_texts(batch) for batch in batches]), dim=-1)

    def pool_texts(self, texts: Sequence[str]) -> torch.Tensor:
        """Return the mean over the tokens of each text (texts, width)."""
        tokens = self.tokenizer(
            [text.strip() for text in texts],
            padding=True,
            truncation=True,
            max_length=self.most,
            return_tensors="pt",
        ).to(self.model.device)
        mask = tokens["attention_mask"].unsqueeze(-1).double()
        states = self.model(**tokens).last_hidden_state.double()
        return (states * mask).sum(1) / mask.sum(1).clamp(min=1e-9)

    def cosines(self, left: Sequence[str], right: Sequence[str]) -> list[list[float]]:
        """Return cosines (left, right). Equal texts are embedded once, so their cosine is 1 in any batch."""
        if not left or not right:
            return [[] for _ in left]
        texts = sorted({*left, *right}, key=lambda text: (len(text), text))
        place = {text: number for number, text in enumerate(texts)}
        vectors = self.embed_texts(texts)
        rows, columns = ([place[text] for text in side] for side in (left, right))
        found = (vectors[rows] @ vectors[columns].T).clamp(-1.0, 1.0)
        return [[round(one, DECIMALS) for one in row] for row in found.tolist()]


def check_layers(folder: Path) -> None:
    """Raise UnreadablePolicy for a model with another pooling or more layers."""
    if (folder / POOLING).is_file():
        pooling = {name for name, on in read_json(folder / POOLING).items() if name.startswith("pooling_mode") and on}
        if pooling != {"pooling_mode_mean_tokens"}:
            raise UnreadablePolicy(f"it is pooled by {', '.join(sorted(pooling))}; only the mean is supported.")
    if (folder / MODULES).is_file():
        try:
            names = [one["type"].rpartition(".")[2] for one in json.loads((folder / MODULES).read_bytes())]
        except (ValueError, TypeError, KeyError, AttributeError):
            raise UnreadablePolicy(f"{folder / MODULES} cannot be read. Copy the whole folder again.") from None
        if more := [name for name in names if name not in LAYERS]:
            raise UnreadablePolicy(f"it has a layer {more[0]} (modules.json), which is not supported.")


def longest(folder: Path) -> int:
    """Return how many tokens of a text the model reads, according to its folder; the rest is cut off."""
    length = read_json(folder / LENGTH).get("max_seq_length") if (folder / LENGTH).is_file() else None
    return int(length) if length else sys.maxsize


def digest_of(folder: Path) -> str:
    """Return a digest, in hex, that identifies this model."""
    files = [*weight_files(folder), folder / "config.json", folder / "tokenizer.json", folder / LENGTH]
    digests = [file_digest(file) for file in files if file.is_file()]
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:16]


def answers(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the model's digest or an error, then an answer to each input line."""
    try:
        sentences = Sentences(folder)
    except UnreadableData as reason:
        yield {"error": str(reason)}
        return
    yield {"digest": sentences.digest}
    for line in sys.stdin:
        request = json.loads(line)
        with torch.inference_mode():
            yield {"cosines": sentences.cosines(request["left"], request["right"])}


def main() -> None:
    parser = argparse.ArgumentParser(description="Compute text similarities over JSON lines.")
    parser.add_argument("folder", type=Path)
    folder, out = parser.parse_args().folder, os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # keep library output out of the answers
    for answer in answers(folder):
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
