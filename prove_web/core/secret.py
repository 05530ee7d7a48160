"""Secret key of the site: from the environment, or created once and stored in the data folder for this user alone."""

import os
import secrets
from pathlib import Path


def secret_key(data: Path) -> str:
    """Return SECRET_KEY, or the key stored in `data`; the first caller creates it, and concurrent ones read it."""
    if given := os.environ.get("SECRET_KEY"):
        return given
    path = data / "secret_key"
    if not path.exists():
        data.mkdir(parents=True, exist_ok=True)
        _keep(path, secrets.token_urlsafe(50))
    return path.read_text()


def _keep(path: Path, key: str) -> None:
    """Write the key completely or not at all: the link appears atomically, and fails if another process was first."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.partial")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(key)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
