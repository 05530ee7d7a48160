"""The token file of a step's rollouts, separate because it is large, rarely read and kept only as configured.

The file contains the text of every token in it, so that tokens can be shown without a tokenizer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from .parquet import build_damage_error, open_parquet, row_of, write
from .record import RolloutRecord

ROWS = 16  # of a row group
IDS = pa.list_(pa.int32())
SCHEMA = pa.schema(
    [
        ("prompt_ids", IDS),
        ("completion_ids", IDS),
        ("env_mask", pa.list_(pa.bool_())),
        ("logprobs", pa.list_(pa.float32())),
        ("advantages", pa.list_(pa.float32())),  # missing in files from before it was recorded
    ]
)
PIECES = b"pieces"


@dataclass(frozen=True)
class Token:
    """One token: id, text, whether the model generated it, and if so its log-probability in nats.

    `advantage` is its advantage in the update; None if it was not recorded.
    """

    id: int
    text: str
    model: bool = False
    logprob: float | None = None
    advantage: float | None = None


@dataclass(frozen=True)
class TokenRow:
    """The tokens of one rollout."""

    prompt: tuple[Token, ...]
    completion: tuple[Token, ...]


def write_tokens(path: Path, rollouts: Sequence[RolloutRecord], piece: Callable[[int], str]) -> str:
    """Write the tokens of a step and return the file's SHA-256; `piece` returns the text of a token. Raises OSError."""
    tokens = [one.tokens for one in rollouts if one.tokens is not None]
    used = {id for one in tokens for id in (*one.prompt_ids, *one.completion_ids)}
    pieces = json.dumps({str(id): piece(id) for id in sorted(used)}, ensure_ascii=True)
    columns = {
        "prompt_ids": [one.prompt_ids for one in tokens],
        "completion_ids": [one.completion_ids for one in tokens],
        "env_mask": [[bool(flag) for flag in one.env_mask] for one in tokens],
        "logprobs": [one.logprobs for one in tokens],
        "advantages": [one.advantages for one in tokens],
    }
    return write(path, pa.table(columns, SCHEMA.with_metadata({PIECES: pieces})), ROWS, ["prompt_ids.list.element"])


def read_tokens(path: Path, index: int) -> TokenRow | None:
    """Return the tokens of one rollout, counted from 1; None past the end. Raises DamagedFile, FileNotFoundError."""
    with open_parquet(path) as file:
        columns = [name for name in SCHEMA.names if name in file.schema_arrow.names]
        row = row_of(file, index - 1, columns) if index > 0 else None
        stored = (file.schema_arrow.metadata or {}).get(PIECES)
    if row is None:
        return None
    if stored is None:
        raise build_damage_error(path, "it has no texts for its tokens")
    pieces: dict[str, str] = json.loads(stored)
    trained = row.get("advantages") or [None] * len(row["completion_ids"])
    spoken = zip(row["completion_ids"], row["env_mask"], row["logprobs"], trained, strict=True)
    return TokenRow(
        tuple(Token(id, pieces[str(id)]) for id in row["prompt_ids"]),
        tuple(
            Token(id, pieces[str(id)], model, *((logprob, advantage) if model else (None, None)))
            for id, model, logprob, advantage in spoken
        ),
    )
