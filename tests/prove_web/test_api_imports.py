"""Files that programs upload: in pieces, resumed after a cut, previewed, read by a job; and their bad rows."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from django.conf import LazySettings

from prove_web.accounts.models import Organisation, Project, User
from prove_web.api.api import document
from prove_web.api.openapi_docs import group_operations
from prove_web.api.tokens import issue
from prove_web.live.models import State
from prove_web.trajectories import uploads
from prove_web.trajectories.models import Dataset
from training_worker.client import Conflict, Invalid, Studio, Unreachable
from training_worker.client import Project as Demo
from training_worker.datasets.importers.import_dataset import FAULTS

from .api_operations import ALL, Program, program
from .examples import dataset_of
from .test_api_client import Site

pytestmark = pytest.mark.django_db
ROWS = b"question,extra\nWhat is it?,1\n,2\n"


@pytest.fixture(autouse=True)
def folder(settings: LazySettings, tmp_path: Path) -> None:
    settings.PROVE_DATA, settings.ALLOWED_HOSTS = tmp_path / "data", ["*"]
    (tmp_path / "data").mkdir()


@pytest.fixture
def maries(mary: User, organisation: Organisation, project: Project) -> Program:
    return program(mary, organisation)


class Cut(Site):
    """A site whose connection breaks after so many pieces: before the next is read, or before it is answered."""

    def __init__(self, after: int, answered: bool = False) -> None:
        super().__init__()
        self.after, self.arrives = after, answered

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method != "PUT":
            return super().handle_request(request)
        self.after -= 1
        if self.after == -1:
            if self.arrives:
                super().handle_request(request)
            raise httpx2.ReadError("broken off", request=request)
        return super().handle_request(request)


@pytest.fixture
def token(mary: User, organisation: Organisation, project: Project) -> str:
    return issue(mary, organisation, "Mine", ALL)[1]


def demo(token: str, site: httpx2.BaseTransport, tries: int = 5) -> Demo:
    studio = Studio("https://studio.example.org", token, transport=site, tries=tries, pause=lambda seconds: None)
    return studio.project("acme", "demo")


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(uploads, "PIECE", 10)
    return 10


def here(upload: dict[str, Any]) -> bytes:
    return (uploads.root() / upload["id"] / "content").read_bytes()


def put(maries: Program, upload: dict[str, Any], at: int, piece: bytes, status: int = 200) -> Any:
    address = f"{maries.site}/imports/{upload['id']}/content?at={at}"
    answer = maries.client.put(address, piece, content_type="application/octet-stream")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_a_file_comes_in_pieces_is_looked_at_and_becomes_a_job(maries: Program) -> None:
    begun = maries.post("/imports", {"name": "a.csv", "size": len(ROWS)}, 201)
    assert (begun["received"], begun["most"]) == (0, uploads.PIECE)
    assert put(maries, begun, 0, ROWS[:9])["received"] == 9
    assert "Upload the rest" in maries.post(f"/imports/{begun['id']}/preview", {}, 409)["do"]
    assert put(maries, begun, 9, ROWS[9:]) == maries.get(f"/imports/{begun['id']}")
    seen = maries.post(f"/imports/{begun['id']}/preview", {})
    assert (seen["format"], seen["columns"], seen["chosen"]) == (
        "columns",
        ["question", "extra"],
        {"query": "question"},
    )
    assert [row["what"] for row in seen["rows"]] == ["irrelevance", "bad"] and seen["bad"] == 1
    made = maries.post(f"/imports/{begun['id']}/start", {"name": "In", "keep_good": True}, 201)
    spec = Dataset.objects.get(number=made["number"]).job.spec["import"]
    assert (made["name"], made["state"], spec["mapped"]) == ("In", "queued", {"query": "question"})
    assert spec["keep_good"] and maries.get(f"/imports/{begun['id']}", 404)["do"]


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"format": "xml"}, "body.format"),
        ({"columns": {"query": "colour"}}, "body.columns.query"),
        ({"columns": {"colour": "extra"}}, "body.columns"),
        ({"format": "columns", "columns": {"query": ""}}, "body"),
    ],
)
def test_how_no_file_can_be_read_is_refused_where_it_is_wrong(
    wrong: dict[str, Any], where: str, maries: Program
) -> None:
    begun = maries.post("/imports", {"name": "a.csv", "size": len(ROWS)}, 201)
    put(maries, begun, 0, ROWS)
    for do in ("preview", "start"):
        assert maries.post(f"/imports/{begun['id']}/{do}", wrong, 422)["where"] == where
    assert here(begun) == ROWS and not Dataset.objects.exists()


def test_pieces_that_do_not_fit_change_nothing(maries: Program, project: Project) -> None:
    begun = maries.post("/imports", {"name": "a.csv", "size": 10}, 201)
    put(maries, begun, 0, b"12345")
    assert put(maries, begun, 0, b"12345", 409)["do"] == "Continue at 5."
    put(maries, begun, 7, b"8", 409)
    assert "announced" in put(maries, begun, 5, b"6789012", 422)["error"]
    put(maries, begun, 5, b"", 422)
    put(maries, begun, 5, b"x" * (uploads.PIECE + 1), 422)
    put(maries, {"id": str(uuid4())}, 0, b"1", 404)
    assert here(begun) == b"12345"
    assert "file is empty" in maries.post("/imports", {"name": "a", "size": 0}, 422)["error"]
    assert maries.post("/imports", {"name": "a", "size": 10**14}, 422)["where"] == "body.size"


def test_the_last_of_the_disk_is_for_the_site(maries: Program, settings: LazySettings) -> None:
    begun = maries.post("/imports", {"name": "a.csv", "size": len(ROWS)}, 201)
    settings.FREE_GB = 10**9
    assert "Not enough disk space" in maries.post("/imports", {"name": "a.csv", "size": len(ROWS)}, 422)["error"]
    assert "Not enough disk space" in put(maries, begun, 0, ROWS, 422)["error"] and here(begun) == b""


def test_what_is_no_data_says_so(maries: Program) -> None:
    picture = b"\x89PNG\r\n\x1a\n" + bytes(100)
    begun = maries.post("/imports", {"name": "a.jsonl", "size": len(picture)}, 201)
    put(maries, begun, 0, picture)
    assert "PNG image" in maries.post(f"/imports/{begun['id']}/start", {}, 422)["error"]


def test_the_bad_rows_of_an_import_come_in_pieces(maries: Program, project: Project) -> None:
    dataset = dataset_of(project, state=State.FAILED)
    assert "no import report" in maries.get(f"/datasets/{dataset.number}/faults", 404)["error"]
    dataset.job.folder.mkdir(parents=True)
    report = 'place,number,why,begins\nrow,2,"It has\u2028 no query.",",2"\nrow,3,Bad.,x\n'
    (dataset.job.folder / FAULTS).write_text(report, "utf-8-sig")
    first = maries.get(f"/datasets/{dataset.number}/faults?limit=1")
    assert first["items"] == [{"place": "row", "number": 2, "why": "It has\u2028 no query.", "begins": ",2"}]
    rest = maries.get(f"/datasets/{dataset.number}/faults?limit=1&cursor={first['next']}")
    assert [row["number"] for row in rest["items"]] == [3] and rest["next"] is None


class TestClient:
    def test_a_file_is_sent_in_pieces_and_imported(self, token: str, tmp_path: Path, small_pieces: int) -> None:
        file, site = tmp_path / "a.csv", Site()
        file.write_bytes(ROWS)
        made = demo(token, site).import_file(file, name="In", keep_good=True)
        assert made["state"] == "queued"
        pieces = [request.read() for request in site.requests if request.method == "PUT"]
        assert b"".join(pieces) == ROWS and {len(piece) for piece in pieces[:-1]} == {small_pieces}

    @pytest.mark.parametrize("arrives", [False, True])
    def test_a_piece_that_was_cut_off_is_sent_once_in_the_end(
        self, arrives: bool, token: str, tmp_path: Path, small_pieces: int
    ) -> None:
        file = tmp_path / "a.csv"
        file.write_bytes(ROWS)
        mine = demo(token, Cut(2, arrives))
        begun = mine.begin_upload(file)
        assert mine.send_upload(begun["id"], file)["received"] == len(ROWS) and here(begun) == ROWS

    def test_after_a_cut_it_goes_on_where_it_stopped(self, token: str, tmp_path: Path, small_pieces: int) -> None:
        file = tmp_path / "a.csv"
        file.write_bytes(ROWS)
        mine = demo(token, Cut(2), tries=1)
        begun = mine.begin_upload(file)
        with pytest.raises(Unreachable):
            mine.send_upload(begun["id"], file)
        assert here(begun) == ROWS[:20]
        site = Site()
        demo(token, site).send_upload(begun["id"], file)
        assert here(begun) == ROWS and [request.url.params["at"] for request in site.requests[1:]] == ["20", "30"]

    def test_no_more_than_a_piece_of_a_large_file_is_read_at_a_time(self, token: str, tmp_path: Path) -> None:
        file, largest = tmp_path / "large", list[int]()
        with file.open("wb") as out:
            out.truncate(1 << 30)

        def site(request: httpx2.Request) -> httpx2.Response:
            size = len(request.read())
            largest.append(size)
            at = int(request.url.params.get("at", 0))
            received = at + 100 * size  # as if many pieces had come
            stands = {"id": "x", "size": 1 << 30, "received": min(1 << 30, received), "most": 4 << 20}
            return httpx2.Response(200, json={**stands, "received": 0} if request.method == "GET" else stands)

        assert demo(token, httpx2.MockTransport(site)).send_upload("x", file)["received"] == 1 << 30
        assert max(largest) == 4 << 20

    def test_a_file_that_shrank_or_is_gone_from_the_site_says_so(self, token: str, tmp_path: Path) -> None:
        file = tmp_path / "a.csv"
        file.write_bytes(ROWS)
        mine = demo(token, Site())
        begun = mine.begin_upload(file)
        file.write_bytes(b"")
        with pytest.raises(ValueError, match="announced"):
            mine.send_upload(begun["id"], file)
        with pytest.raises(Conflict):
            mine.start_import(begun["id"])
        with pytest.raises(Invalid):
            mine.begin_upload(file)

    def test_a_packed_file_is_read_as_its_contents(self, token: str, tmp_path: Path) -> None:
        file = tmp_path / "a.csv.gz"
        file.write_bytes(gzip.compress(ROWS))
        mine = demo(token, Site())
        upload = mine.send_upload(mine.begin_upload(file)["id"], file)
        assert [row["what"] for row in mine.preview_import(upload["id"])["rows"]] == ["irrelevance", "bad"]


def test_the_page_of_the_api_shows_how_a_piece_is_sent() -> None:
    sections = group_operations(document(), "https://studio.example.org")
    [piece] = [one for section in sections for one in section.operations if one.name == "send_piece"]
    assert piece.example.startswith("curl -X PUT ") and piece.example.endswith("--data-binary @piece")
