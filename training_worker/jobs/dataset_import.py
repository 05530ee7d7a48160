"""Import job: a dataset from an uploaded file, read line by line in this child process, where it can do no harm."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..core.disk_quota import get_reserved_gb, require_disk_space
from ..core.trajectory import UnreadableData, file_digest
from ..datasets.export.publish import publish
from ..datasets.importers.archive import plain_files
from ..datasets.importers.import_dataset import DatasetImporter
from ..datasets.importers.reader import ReadOptions
from ..evaluation.contamination import Screen
from .job_context import EventLog, JobRefusedError, Result, require_known_settings

BENCHMARKS = "benchmarks"  # in the data folder
UPLOAD, PLAIN = "upload", "plain"  # in the job's folder: the uploaded file, and its unpacked content


def make_progress_callback(tell: EventLog, size: int) -> Callable[[int, int], None]:
    """Return a callback that reports the position in `size` bytes of lines and the time left, or else the rows read."""
    began = tell.clock()

    def report_progress(rows: int, read: int) -> None:
        spent = tell.clock() - began
        left = spent / read * (size - read) if read >= size / 100 and read else None
        tell.progress(read, size if read else 0, f"{rows:,} rows read", left)

    return report_progress


def work(spec: Mapping[str, Any], folder: Path, tell: EventLog) -> Result:
    require_known_settings(spec, {"import"})
    given = spec["import"]
    upload = folder / UPLOAD
    if not upload.exists():
        raise JobRefusedError("The file to import is gone from the job's folder. Upload it again.")
    options = ReadOptions(
        given["format"], given.get("mapped") or {}, given.get("split") or None, bool(given.get("attempts"))
    )
    try:
        packed = upload.stat().st_size
        require_disk_space("the rows of this file", packed, folder, get_reserved_gb())
        files = plain_files(upload, folder / PLAIN, poll=lambda: tell.progress(0, 0, "unpacking the file"))
        require_disk_space(
            "the rows of this file", sum(file.stat().st_size for file in files), folder, get_reserved_gb()
        )
        screen = Screen.of_installed(folder.absolute().parents[1] / BENCHMARKS)
        importing = DatasetImporter(
            folder, options, make_progress_callback(tell, sum(file.stat().st_size for file in files)), screen
        )
        settings = {"format": options.format, "file": given.get("file", ""), "sha256": file_digest(upload)}
        made = importing.import_files(folder / "out", files, settings, keep_good=bool(given.get("keep_good")))
    except UnreadableData as why:
        raise JobRefusedError(str(why).replace(str(folder), "")) from None
    finally:
        shutil.rmtree(folder / PLAIN, ignore_errors=True)
    if importing.outcome.attempts == 0:
        publish(folder / "out")
    upload.unlink()
    result = {"manifest": asdict(made), "import": importing.outcome.as_json()}
    return result | ({"content": importing.outcome.content} if importing.outcome.attempts else {})
