"""A folder behind a URL, by fsspec: a local one, or one that outlives this machine (s3://bucket/prefix).

The URL comes from whoever runs the site (PROVE_STORAGE), and what is opened beneath it is named by us: nothing that a
person typed into a page gets here. Keys and endpoints are fsspec's own variables (FSSPEC_S3_KEY and so on).
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
    """A storage that cannot be used now; the message says which, why, and what to do."""


class Storage:
    """One folder of the storage. Nothing is opened until it is used."""

    def __init__(self, url: str):
        self.url = url.rstrip("/")

    def __truediv__(self, name: str) -> Storage:
        return Storage(f"{self.url}/{checked(name)}")

    @property
    def named(self) -> str:
        """The URL as it may be shown: without a name and password."""
        return re.sub(r"://[^/@]*@", "://", self.url)

    def put(self, name: str, data: bytes) -> None:
        """Store a file, in place of any of that name; whoever reads it sees it whole. Raises StorageFailed."""
        partial = f"{checked(name)}.partial"
        with self.connect() as (files, folder):
            files.makedirs(folder, exist_ok=True)
            files.pipe_file(f"{folder}/{partial}", data)
            files.mv(f"{folder}/{partial}", f"{folder}/{name}")

    def get(self, name: str) -> bytes:
        """What a file holds. Raises StorageFailed, FileNotFoundError."""
        checked(name)
        with self.connect() as (files, folder):
            return bytes(files.cat_file(f"{folder}/{name}"))

    def names(self) -> list[str]:
        """The files in this folder; none where there is no folder. Raises StorageFailed."""
        try:
            with self.connect() as (files, folder):
                files.invalidate_cache()
                return sorted(str(path).rsplit("/", 1)[-1] for path in files.ls(folder, detail=False))
        except FileNotFoundError:
            return []

    def remove(self, name: str) -> None:
        """Remove a file, if it is there. Raises StorageFailed."""
        checked(name)
        with suppress(FileNotFoundError), self.connect() as (files, folder):
            files.rm_file(f"{folder}/{name}")

    def clear(self) -> None:
        """Remove this folder and all that is in it, if it is there. Raises StorageFailed."""
        with suppress(FileNotFoundError), self.connect() as (files, folder):
            files.rm(folder, recursive=True)

    @contextmanager
    def connect(self) -> Iterator[tuple[Any, str]]:
        """The file system and the path of the folder in it."""
        try:
            files, folder = url_to_fs(self.url)
            yield files, str(folder).rstrip("/")
        except FileNotFoundError:
            raise
        except ImportError as error:
            raise StorageFailed(self.missing(error)) from error
        except Exception as error:  # each protocol has errors of its own, and not all are OSError
            why = f"{type(error).__name__}: {error}"
            raise StorageFailed(f"The storage {self.named} did not answer ({why}).") from error

    def missing(self, error: ImportError) -> str:
        protocol = self.url.partition("://")[0]
        package = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs"}.get(protocol, "")
        what = f"the package {package}" if package else f"a package ({error})"
        return f"{VARIABLE} is {self.named}: for {protocol}:// {what} must be installed beside the others."


def configured(url: str | None = None) -> Storage | None:
    """The storage of this URL, else the one that PROVE_STORAGE names; None where rollouts stay in their run's folder.

    Raises StorageFailed for what is no URL, and where the package is missing that speaks its protocol.
    """
    url = os.environ.get(VARIABLE, "") if url is None else url
    if not url:
        return None
    protocol = url.partition("://")[0]
    local = protocol in ("file", "local") and not url.startswith(f"{protocol}:///")
    if "://" not in url or local or protocol not in fsspec.available_protocols():
        raise StorageFailed(f"{VARIABLE}={url!r} is no URL of a storage. Write file:///folder or s3://bucket/prefix.")
    storage = Storage(url)
    try:
        fsspec.get_filesystem_class(protocol)
    except ImportError as error:
        raise StorageFailed(storage.missing(error)) from error
    return storage


def checked(name: str) -> str:
    """A name that leads nowhere else."""
    if not SAFE.fullmatch(name):
        raise ValueError(f"not a name of a file or folder of the store: {name!r}")
    return name
