"""Storage folders addressed by URL, through fsspec: local, or remote such as s3://bucket/prefix.

The operator of the site sets the URL (PROVE_STORAGE), and all names below it are generated: no input from pages gets
here. Keys and endpoints are fsspec's own variables (FSSPEC_S3_KEY and so on).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import fsspec
from fsspec.core import url_to_fs

VARIABLE = "PROVE_STORAGE"
SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class StorageFailed(Exception):
    """A failure of the storage; the message names the storage, the reason and the remedy."""


class Storage:
    """One folder of the storage, opened lazily."""

    def __init__(self, url: str):
        self.url = url.rstrip("/")

    def __truediv__(self, name: str) -> Storage:
        return Storage(f"{self.url}/{require_safe_name(name)}")

    @property
    def named(self) -> str:
        """Return the URL without user name and password, for display."""
        return re.sub(r"://[^/@]*@", "://", self.url)

    def put(self, name: str, data: bytes) -> None:
        """Store a file atomically, replacing one of the same name. Raises StorageFailed."""
        partial = f"{require_safe_name(name)}.partial"
        with self.connect() as (files, folder):
            files.makedirs(folder, exist_ok=True)
            files.pipe_file(f"{folder}/{partial}", data)
            files.mv(f"{folder}/{partial}", f"{folder}/{name}")

    def get(self, name: str) -> bytes:
        """Return the content of a file. Raises StorageFailed, FileNotFoundError."""
        require_safe_name(name)
        with self.connect() as (files, folder):
            return bytes(files.cat_file(f"{folder}/{name}"))

    def names(self) -> list[str]:
        """Return the names of the files in this folder; empty if the folder does not exist. Raises StorageFailed."""
        try:
            with self.connect() as (files, folder):
                files.invalidate_cache()
                return sorted(str(path).rsplit("/", 1)[-1] for path in files.ls(folder, detail=False))
        except FileNotFoundError:
            return []

    def remove(self, name: str) -> None:
        """Remove a file if it exists. Raises StorageFailed."""
        require_safe_name(name)
        with suppress(FileNotFoundError), self.connect() as (files, folder):
            files.rm_file(f"{folder}/{name}")

    def clear(self) -> None:
        """Remove this folder with its contents if it exists. Raises StorageFailed."""
        with suppress(FileNotFoundError), self.connect() as (files, folder):
            files.rm(folder, recursive=True)

    @contextmanager
    def connect(self) -> Iterator[tuple[Any, str]]:
        """Open the file system and yield it with the path of the folder. Raises StorageFailed, FileNotFoundError."""
        try:
            files, folder = url_to_fs(self.url)
            yield files, str(folder).rstrip("/")
        except FileNotFoundError:
            raise
        except ImportError as error:
            raise StorageFailed(self.describe_missing_package(error)) from error
        except Exception as error:  # each protocol has its own exceptions, not all of them OSError
            why = f"{type(error).__name__}: {error}"
            raise StorageFailed(f"The storage {self.named} did not answer ({why}).") from error

    def describe_missing_package(self, error: ImportError) -> str:
        protocol = self.url.partition("://")[0]
        package = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs"}.get(protocol, "")
        what = f"the package {package}" if package else f"a package ({error})"
        return f"{VARIABLE} is {self.named}: install {what} to use {protocol}:// URLs."


def get_storage(url: str | None = None) -> Storage | None:
    """Return the storage of this URL, by default of PROVE_STORAGE; None if rollouts stay in their run's folder.

    Raises StorageFailed for an invalid URL, and if the package for its protocol is missing.
    """
    url = os.environ.get(VARIABLE, "") if url is None else url
    if not url:
        return None
    protocol = url.partition("://")[0]
    local = protocol in ("file", "local") and not url.startswith(f"{protocol}:///")
    if "://" not in url or local or protocol not in fsspec.available_protocols():
        raise StorageFailed(f"{VARIABLE}={url!r} is not a storage URL. Use file:///folder or s3://bucket/prefix.")
    storage = Storage(url)
    try:
        fsspec.get_filesystem_class(protocol)
    except ImportError as error:
        raise StorageFailed(storage.describe_missing_package(error)) from error
    return storage


def require_safe_name(name: str) -> str:
    """Return the name if it cannot lead out of the folder. Raises ValueError."""
    if not SAFE.fullmatch(name):
        raise ValueError(f"not a valid file or folder name in the storage: {name!r}")
    return name
