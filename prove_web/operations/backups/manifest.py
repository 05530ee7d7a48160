"""Backup metadata: `about.json` at the beginning, and the manifest at the end."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, ValidationError

from .archive import BackupFailed

FORMAT = 1


class Member(BaseModel):
    model_config = ConfigDict(frozen=True)

    bytes: int
    sha256: str


class BackupMetadata(BaseModel):
    """`database` is Django's vendor name; `migrations` are the applied ones as (app, name)."""

    format: int
    data_version: int
    made_at: datetime
    database: str
    migrations: list[tuple[str, str]]
    without: list[str]


class Manifest(BaseModel):
    """All members except the manifest, by name; `gone` files were removed while the backup was made."""

    members: dict[str, Member]
    gone: list[str]


def read_about(content: bytes) -> BackupMetadata:
    """Parse `about.json`. Raises BackupFailed."""
    try:
        return BackupMetadata.model_validate_json(content)
    except ValidationError:
        raise BackupFailed("this is not a PROVE Studio backup: it does not start with a valid about.json") from None


def read_manifest(content: bytes) -> Manifest:
    """Parse the manifest. Raises BackupFailed."""
    try:
        return Manifest.model_validate_json(content)
    except ValidationError:
        raise BackupFailed("the backup's manifest is invalid: the file is damaged. Use another backup") from None
