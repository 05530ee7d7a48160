"""Signed URLs: each grants access to one session of a gateway, whose seed and size the signature fixes."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import os
import secrets
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

TAG = 16  # bytes of a signature
SHORTEST = 32  # characters of a secret


@dataclass(frozen=True)
class Ticket:
    """Content of a signed URL: one session, in the world of this seed and size.

    `owner` is a label that the signer chooses; it is empty if the session has no owner.
    """

    name: str
    seed: int
    size: str
    owner: str = ""

    def sign_token(self, secret: bytes) -> str:
        fields = [self.name, self.seed, self.size, *([self.owner] if self.owner else [])]
        text = json.dumps(fields).encode()
        return f"{encode_base64(text)}.{encode_base64(tag(secret, text))}"

    @classmethod
    def read(cls, token: str, secret: bytes) -> Ticket | None:
        """Return the ticket of a token that was signed with this secret, else None."""
        try:
            text, mark = (base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split("."))
        except (ValueError, binascii.Error):
            return None
        if not secret or not hmac.compare_digest(mark, tag(secret, text)):
            return None
        return cls(*json.loads(text))


def encode_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def tag(secret: bytes, text: bytes) -> bytes:
    return hmac.new(secret, text, sha256).digest()[:TAG]


def secret_of(path: Path) -> bytes:
    """Read the secret from a file, or create one that only its owner can read. Raises OSError, ValueError."""
    try:
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
    except FileExistsError:
        pass
    secret = path.read_text("utf-8").strip()
    if len(secret) < SHORTEST:
        raise ValueError(f"{path} holds no secret: remove it, and a new one is made.")
    return secret.encode()
