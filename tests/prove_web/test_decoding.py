"""Files and bodies that unpack to far more than their size: the site refuses each with a reason, and the web process
grows by at most GROWTH at every entry point."""

from __future__ import annotations

import ast
import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from prove_web.accounts.models import Organisation, Project, User
from prove_web.trajectories import uploads
from prove_web.workers.enrolment import enrol
from training_worker.jobs import dataset_import
from training_worker.jobs.job_context import EventLog, JobRefusedError
from training_worker.jobs.spool import SpoolWriter, spool_path
from training_worker.store.parquet import DamagedFile
from training_worker.store.steps import SCHEMA, read_summaries
from training_worker.training.stop_signal import Stop

from .api_operations import program
from .joining import Machine, run

ROOT = Path(__file__).parents[2]
GROWTH = 160 << 20  # bytes by which the peak memory of the web process may grow
MEGABYTE = 1 << 20
STATUS = Path("/proc/self/status")

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not STATUS.exists(), reason="the peak of a process's memory is read where Linux says it"),
]


@pytest.fixture(autouse=True)
def own_folder(settings: LazySettings, tmp_path: Path) -> None:
    settings.PROVE_DATA = tmp_path / "data"
    settings.PROVE_DATA.mkdir()


def memory(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", STATUS.read_text())
    assert found
    return int(found[1]) << 10


def growth(act: Callable[[], Any]) -> tuple[Any, int]:
    """Return the result of act and the bytes by which the peak memory of this process exceeds what it held before."""
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = memory("VmRSS")
    return act(), memory("VmHWM") - before


def repeated(rows: int, size: int, **columns: Any) -> bytes:
    """Return Parquet of a few kilobytes whose rows all hold the same long text."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * size]))
    out = io.BytesIO()
    table = pa.table({"query": text, **{name: [value] * rows for name, value in columns.items()}})
    pq.write_table(table, out, compression="zstd", write_statistics=False, store_schema=False)
    return out.getvalue()


def wide_parquet() -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({f"c{number}": [1] for number in range(5_000)}), out)
    return out.getvalue()


def in_a_zip(content: bytes, name: str = "a.jsonl") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(name, content)
    return out.getvalue()


IMPORTS: dict[str, Callable[[], bytes]] = {
    "Parquet of one text a million times": lambda: repeated(1_000_000, MEGABYTE),
    "Parquet of 5,000 columns": wide_parquet,
    "JSON nested a million deep": lambda: b'{"a":' + b"[" * MEGABYTE,
    "an array nested a million deep": lambda: b'[{"a":' + b"[" * MEGABYTE,
    "an object with 300,000 names": lambda: json.dumps({f"c{number}": 0 for number in range(300_000)}).encode(),
    "a line of 40 MB": lambda: b'{"a":"' + b"x" * (40 * MEGABYTE) + b'"}',
    "a table of 100,000 columns": lambda: ",".join(f"c{number}" for number in range(100_000)).encode() + b"\n",
    "a table with a line of 40 MB": lambda: b"a,b\n" + b"x" * (40 * MEGABYTE),
    "gzip of 64 MB": lambda: gzip.compress(b'{"a":"' + b"x" * (64 * MEGABYTE)),
    "a zip of 64 MB": lambda: in_a_zip(b'{"a":"' + b"x" * (64 * MEGABYTE)),
    "an array of 3,000,000 empty objects": lambda: b"[" + b"{}," * 3_000_000 + b"{}]",
}


QUICK = ("Parquet of 5,000 columns", "JSON nested a million deep", "a line of 40 MB", "gzip of 64 MB", "a zip of 64 MB")


@pytest.mark.parametrize(
    "bomb", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in IMPORTS]
)
def test_a_file_to_import_is_previewed_within_bounds(
    bomb: str, project: Project, organisation: Organisation, mary: User, as_user: Callable[[User], Client]
) -> None:
    content = IMPORTS[bomb]()
    upload = uploads.begin(project, "a", len(content))
    upload.add(0, [content])
    del content
    client, api = as_user(mary), program(mary, organisation)
    page = reverse("import-preview", args=[*project.path, upload.id])
    for act in (
        lambda: client.get(page),
        lambda: client.get(page, {"format": "openai"}),
        lambda: api.client.post(f"{api.site}/imports/{upload.id}/preview", {}, "application/json"),
        lambda: client.post(page, {"format": "openai"}),  # the last starts a job if only rows are bad
    ):
        answer, grown = growth(act)
        assert 400 <= answer.status_code < 500 or b"bad" in answer.content or answer.status_code == 302
        assert len(answer.content) < MEGABYTE and grown < GROWTH


@pytest.mark.long
def test_the_job_that_imports_parquet_of_one_text_a_million_times_leaves_the_decoding_to_a_child(
    tmp_path: Path,
) -> None:
    (tmp_path / "upload").write_bytes(repeated(1_000_000, 60 * MEGABYTE))
    given = {"format": "columns", "mapped": {"query": "query"}, "split": "", "keep_good": True, "file": "a"}
    tell = EventLog(SpoolWriter(spool_path(tmp_path, 1)), Stop(), 1)

    def work() -> None:
        with pytest.raises(JobRefusedError, match="unpack"):
            dataset_import.work({"import": given}, tmp_path, tell)

    assert growth(work)[1] < GROWTH


def refused_rollouts() -> dict[str, bytes]:
    columns: dict[str, Any] = {"record": "{}"}
    out = io.BytesIO()
    pq.write_table(pa.table({"index": pa.array([1] * 100_000, pa.int32())}), out)
    return {
        "a text of a megabyte 100,000 times": rollouts_that_say(100_000 // 2, MEGABYTE),
        "100,000 rows": out.getvalue(),
        "columns of another file": repeated(1, 10, **columns),
        "no Parquet at all": b"PAR1 and no more",
    }


def rollouts_that_say(rows: int, size: int) -> bytes:
    """Return a rollouts file of a few kilobytes whose records are all the same long text."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * size]))
    out = io.BytesIO()
    table = pa.table({"index": pa.array(range(rows), pa.int32()), "record": text})
    pq.write_table(table, out, compression="zstd", write_statistics=False, store_schema=False)
    return out.getvalue()


@pytest.mark.usefixtures("broker")
def test_rollouts_that_a_machine_sends_are_decoded_by_a_child_before_the_site_takes_them(
    project: Project, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, job = Machine(enrol(project.organisation, alice, "GPU box", 1)[1]), run(project)
    machine.next()
    job.refresh_from_db()
    for what, content in refused_rollouts().items():
        assert len(content) < 400_000
        status, grown = growth(lambda content=content: machine.put(job, "out/rollouts/step-000001.parquet", content))
        assert status == 400 and grown < GROWTH, what
    assert not [*job.folder.rglob("step-*")]
    good = rollouts_that_say(3, 10)
    assert machine.put(job, "out/rollouts/step-000001.parquet", good) == 200


def test_a_file_of_rollouts_that_says_it_has_more_than_a_step_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "step-000001.parquet"
    pq.write_table(pa.table({name: pa.nulls(100_000, SCHEMA.field(name).type) for name in ("index", "record")}), path)
    with pytest.raises(DamagedFile, match="100,000 rows"):
        read_summaries(path)


TRACKERS: dict[str, Callable[[], bytes]] = {
    "a zip of 400 MB": lambda: in_a_zip(bytes(400 * MEGABYTE), "events.out.tfevents.1"),
    "a zip with links out of its folder": lambda: in_a_zip(b"x", "../../out"),
    "a file of another kind": lambda: b"SQLite format 3\0" + bytes(1000),
}


@pytest.mark.parametrize("bomb", TRACKERS)
def test_the_file_of_another_tracker_is_decoded_within_bounds(
    bomb: str, project: Project, mary: User, as_user: Callable[[User], Client]
) -> None:
    client, file = as_user(mary), SimpleUploadedFile("runs.zip", TRACKERS[bomb]())
    address = reverse("run-import", args=project.path)
    answer, grown = growth(lambda: client.post(address, {"format": "tensorboard", "file": file}))
    assert answer.status_code == 422 and grown < GROWTH


BODIES = {
    "lists in each other": b"[" * 4 * MEGABYTE,
    "empty lists": b"[" + b"[]," * MEGABYTE + b"[]]",
    "a long number": b"1" * MEGABYTE,
    "as many empty lists as a body may have": b"[" + b"[]," * 300_000 + b"[]]",
}


@pytest.mark.usefixtures("broker")
@pytest.mark.parametrize("bomb", BODIES)
def test_a_body_of_json_is_read_within_bounds(
    bomb: str, project: Project, organisation: Organisation, alice: User
) -> None:
    client = program(alice, organisation).client
    machine = Machine(enrol(project.organisation, alice, "GPU box", 1)[1])
    for act in (
        lambda: client.post("/api/v1/acme/demo/imports", BODIES[bomb], "application/json"),
        lambda: machine.client.post("/worker/tell/", BODIES[bomb], "application/json", headers=machine.headers),
    ):
        answer, grown = growth(act)
        assert 400 <= answer.status_code < 500 and grown < GROWTH


READERS = {
    *("ParquetFile", "ParquetDataset", "read_table", "CompressedInputStream", "RecordBatchFileReader", "open_file"),
    *("ZipFile", "GzipFile", "decompress", "decompressobj", "LZMAFile", "BZ2File", "DictReader"),
    *("safe_open", "load_file", "EventAccumulator", "DataStore", "loadtxt", "genfromtxt", "read_csv", "read_parquet"),
}
MODULES = {"csv", "gzip", "zlib", "bz2", "lzma", "zipfile", "tarfile", "sqlite3", "pickle", "np", "numpy", "torch"}
LOADERS = {"open", "load", "loads", "connect", "reader", "DictReader"}  # of one of these modules
IN_THE_CHILD, DECODED_BEFORE = "in the child", "files that the child has decoded before"
OPERATOR, OUR_OWN = "files of whoever runs the site", "files that this site wrote"
MAPPED = "weights: their header is bounded, and they are mapped into memory, by a job's own process"
DECODERS = {
    "prove_web/operations/backups/archive.py": OPERATOR,
    "prove_web/operations/backups/databases.py": OPERATOR,
    "prove_web/trajectories/import_services.py": OUR_OWN,
    "training_worker/datasets/export/parquet.py": OUR_OWN,
    "training_worker/endpoint/response_cache.py": OUR_OWN,
    "training_worker/datasets/importers/decode.py": IN_THE_CHILD,
    "training_worker/datasets/importers/archive.py": IN_THE_CHILD,
    "training_worker/datasets/importers/rows.py": "tables, one bounded row at a time",
    "training_worker/store/parquet.py": DECODED_BEFORE,
    "training_worker/trackers/tensorboard.py": IN_THE_CHILD,
    "training_worker/trackers/safe_zip.py": IN_THE_CHILD,
    "training_worker/trackers/wandb_file.py": IN_THE_CHILD,
    "training_worker/training/footprint.py": MAPPED,
    "training_worker/policy/policy_folder.py": MAPPED,
    "training_worker/training/packed_sft.py": OUR_OWN,
}


def test_every_module_that_decodes_a_file_is_known_and_bounded() -> None:
    """A new module that reads Parquet, archives or tables states here why no file can fill its memory."""
    found = {
        str(path.relative_to(ROOT))
        for path in [*ROOT.glob("prove_web/**/*.py"), *ROOT.glob("training_worker/**/*.py")]
        if "bench" not in path.parts
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and decodes(node)
    }
    assert found == {*DECODERS}


def decodes(call: ast.Call) -> bool:
    """Return whether a call opens a file for decoding and not for writing."""
    writes = any(isinstance(one, ast.Constant) and one.value in ("w", "wb", "x") for one in call.args)
    if isinstance(call.func, ast.Name):
        return call.func.id in READERS and not writes
    if not isinstance(call.func, ast.Attribute):
        return False
    of_module = isinstance(call.func.value, ast.Name) and call.func.value.id in MODULES
    return not writes and (call.func.attr in READERS or (of_module and call.func.attr in LOADERS))
