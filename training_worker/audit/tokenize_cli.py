"""Tokens of a conversation as a model reads and writes them: `python -m training_worker.audit.tokenize_cli FOLDER`.

Standard input has {"opening": messages, "rest": messages, "tools": schemas} as JSON; standard output has a list of
[text, 1 on the model's tokens or 0]. Only the tokenizer of the folder is read: nothing in it is executed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.trajectory import Message, UnreadableData
from ..policy.conversation import encode_demonstration
from ..policy.timeout import enforce_timeout
from ..policy.token_text import piece_of
from .folder import tokenizer_of

LONGEST = 30.0  # seconds; a third-party template may never end


def tokenize_conversation(folder: Path, request: dict[str, Any]) -> list[tuple[str, int]]:
    """Return tokens and masks. Raises UnreadableModel, UnknownFamily, and TimeoutError if the template never ends."""
    tokenizer = tokenizer_of(folder)
    opening, rest = ([Message(**one) for one in request[name]] for name in ("opening", "rest"))
    with enforce_timeout(LONGEST):
        encoded = encode_demonstration(tokenizer, opening, rest, request["tools"])
    piece = piece_of(tokenizer)
    return [(piece(id), int(mask)) for id, mask in zip(encoded.ids, encoded.mask, strict=True)]


def main(arguments: Sequence[str] | None = None) -> int:
    (folder,) = sys.argv[1:] if arguments is None else arguments
    try:
        print(json.dumps(tokenize_conversation(Path(folder), json.load(sys.stdin))))
    except (UnreadableData, TimeoutError) as why:
        print(why, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
