"""File type detection by the first bytes, and unpacking of compressed files under a size limit.

A child process (decode.py) unpacks, because a zip directory or a compression window can need far more memory than its
file.
"""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from ...core import sandbox
from ...core.trajectory import BadLine, UnreadableData
from .rows import DECODER, MOST_PLAIN, PARQUET, Passed, Row, csv_rows, ignore_byte_count, one_line, read_rows

MOST_PACKED = 2 << 30  # bytes of a file
MOST_RATIO, ALWAYS = 200, 16 << 20  # unpacked bytes per packed byte, and how many are always allowed
CHUNK, HEAD = 1 << 20, 8 << 20  # of reading, and of a preview
ZIP, GZIP, ZSTD = b"PK\x03\x04", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
SPLITS = ("train.jsonl", "held_out.jsonl")
ENDINGS = (".jsonl", ".json", ".csv", ".tsv", ".ndjson")
OTHERS = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF document",
    b"\x7fELF": "a program",
    b"MZ": "a Windows program",
    b"SQLite format 3": "an SQLite database",
    b"\x80\x04": "a Python pickle, which is never read",
    b"\x80\x05": "a Python pickle, which is never read",
    b"ARROW1": "an Arrow file",
    b"BZh": "a bzip2 file; use gzip or zstd, or no compression",
    b"\xfd7zXZ": "an xz file; use gzip or zstd, or no compression",
    b"7z\xbc\xaf": "a 7-Zip file; use zip, gzip or zstd, or no compression",
    b"\xff\xfe": "text in UTF-16; save it as UTF-8",
    b"\xfe\xff": "text in UTF-16; save it as UTF-8",
    b"<!doctype": "a web page, perhaps the page about the file and not the file itself",
    b"<html": "a web page, perhaps the page about the file and not the file itself",
    b"<?xml": "an XML document",
    b"version https://git-lfs": "a Git LFS pointer; download the file itself first",
}


def detect_file_type(path: Path) -> str:
    """Return zip, gzip, zstd, parquet, json, jsonl or text. Raises UnreadableData naming any other type."""
    with path.open("rb") as file:
        start = file.read(4096)
    for magic, name in ((ZIP, "zip"), (GZIP, "gzip"), (ZSTD, "zstd"), (PARQUET, "parquet")):
        if start.startswith(magic):
            return name
    for magic, what in OTHERS.items():
        if start.lower().startswith(magic.lower()):
            raise UnreadableData(f"Not a JSON Lines, JSON, CSV or Parquet file: it seems to be {what}.")
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    if not text:
        raise UnreadableData("The file is empty.")
    if b"\0" in start:
        raise UnreadableData("Not a JSON Lines, JSON, CSV or Parquet file: it contains binary data.")
    return "json" if text.startswith(b"[") else "jsonl" if text.startswith(b"{") else "text"


def rows_of(path: Path, passed: Passed = ignore_byte_count) -> tuple[str, Iterator[tuple[int, Row | BadLine]]]:
    """Return the name of a row's unit in an unpacked file, and the rows. Raises UnreadableData."""
    return ("line", csv_rows(path)) if detect_file_type(path) == "text" else read_rows(path, passed)


def plain_files(path: Path, folder: Path, head: bool = False, poll: Callable[[], None] = lambda: None) -> list[Path]:
    """Return the files to read rows from: the file itself, or its content unpacked into the folder.

    With `head` only the part for a preview is unpacked, up to the end of a line; `poll` may raise to cancel. Raises
    UnreadableData, OSError.
    """
    if detect_file_type(path) not in ("zip", "gzip", "zstd"):
        return [path]
    folder.mkdir(parents=True, exist_ok=True)
    if sandbox.inside:
        unpack_into(path, folder, head)
    else:
        sandbox.run(DECODER, ["unpack", str(path.absolute()), str(folder.absolute())], poll)
    return sorted(folder.glob("plain-*"))


def unpack_into(path: Path, folder: Path, head: bool) -> None:
    """Unpack into files named plain-0 and so on. Raises UnreadableData, OSError, MemoryError."""
    kind, budget = detect_file_type(path), Budget(path.stat().st_size)
    try:
        for name, member in members(path, kind):
            unpack(member, folder / name, budget, head)
    except (EOFError, zipfile.BadZipFile, zlib.error, gzip.BadGzipFile) as error:
        raise UnreadableData(f"The {kind} file is damaged or truncated: {one_line(error)}.") from None
    except (NotImplementedError, RuntimeError) as error:
        raise UnreadableData(f"The {kind} file cannot be unpacked: {one_line(error)}.") from None
    except OSError as error:
        if error.errno is not None:  # a disk error; without errno pyarrow reports a damaged file
            raise
        raise UnreadableData(f"The {kind} file is damaged or truncated: {one_line(error)}.") from None


class Budget:
    """The number of unpacked bytes that a packed file may produce."""

    def __init__(self, packed: int):
        self.packed, self.left = packed, min(MOST_PLAIN, packed * MOST_RATIO + ALWAYS)
        self.most = self.left

    def spend(self, size: int) -> None:
        """Subtract unpacked bytes. Raises UnreadableData if the budget is exceeded."""
        self.left -= size
        if self.left < 0:
            raise UnreadableData(
                f"The {self.packed:,} bytes unpack to more than the limit of {self.most:,} bytes. "
                "Split the file, or unpack it first."
            )


def members(path: Path, kind: str) -> Iterator[tuple[str, Any]]:
    """Yield a generated name for each packed file, and the file opened for reading."""
    if kind == "gzip":
        with gzip.open(path) as file:
            yield "plain-0", file
    elif kind == "zstd":
        import pyarrow as pa

        with pa.OSFile(str(path)) as source, pa.CompressedInputStream(source, "zstd") as file:
            yield "plain-0", file
    else:
        with zipfile.ZipFile(path) as archive:
            for number, info in enumerate(select_data_files(archive)):
                with archive.open(info) as file:
                    yield f"plain-{number}", file


def select_data_files(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the files of the splits if present, else the only data file. Raises UnreadableData."""
    files = [info for info in archive.infolist() if not info.is_dir() and info.file_size]
    by_name = {PurePosixPath(info.filename).name: info for info in reversed(files)}
    if found := [by_name[name] for name in SPLITS if name in by_name]:
        return found
    data = [info for info in files if info.filename.lower().endswith(ENDINGS) and "__MACOSX" not in info.filename]
    if len(data) != 1:
        names = ", ".join(sorted(info.filename[:60] for info in files)[:5]) or "nothing"
        raise UnreadableData(
            f"The zip contains {names}; it must contain train.jsonl and held_out.jsonl, or one JSON Lines, JSON or CSV "
            "file."
        )
    return data


def unpack(member: Any, to: Path, budget: Budget, head: bool) -> Path:
    with to.open("wb") as file:
        while piece := member.read(CHUNK):
            budget.spend(len(piece))
            file.write(piece)
            if head and file.tell() >= HEAD:
                break
        cut_short = head and file.tell() >= HEAD
    if cut_short:
        end_with_a_line(to)
    if (kind := detect_file_type(to)) in ("zip", "gzip", "zstd", "parquet"):
        raise UnreadableData(f"It contains a {kind} file; import that file directly.")
    return to


def end_with_a_line(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: data.rfind(b"\n") + 1])
