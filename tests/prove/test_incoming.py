"""Files that users upload: what is read, what is refused, and with which message. Limits apply before a read."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from training_worker.core.trajectory import (
    BadLine,
    Example,
    ExecutedCall,
    Reward,
    Rollout,
    UnreadableData,
    dumps,
    loads,
)
from training_worker.datasets import dataset_folder
from training_worker.datasets.export import lines
from training_worker.datasets.export.card import card
from training_worker.datasets.importers import archive, import_dataset, reader, rows
from training_worker.datasets.importers.archive import plain_files
from training_worker.datasets.importers.formats import FORMATS, make
from training_worker.datasets.importers.import_dataset import FAULTS, DatasetImporter, NothingImported, Outcome
from training_worker.datasets.importers.reader import ReadOptions
from training_worker.datasets.rollout_dataset import DatasetRollout
from training_worker.environment.episode import oracle
from training_worker.reward import reward_of

SOME: list[Example] = []  # real conversations

TOOLS = [{"name": "find", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}]
CHAT = {
    "messages": [
        {"role": "user", "content": "Find it."},
        {"role": "assistant", "tool_calls": [{"function": {"name": "find", "arguments": '{"q": "it"}'}}]},
        {"role": "assistant", "content": "Found."},
    ],
    "tools": TOOLS,
}


@pytest.fixture(scope="module", autouse=True)
def known(examples: tuple[Example, ...]) -> None:
    SOME[:] = examples[:30]


def write(path: Path, rows: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def bring(path: Path, tmp_path: Path, format: str = "ours", keep_good: bool = False, **options: Any) -> Outcome:
    work = DatasetImporter(tmp_path, ReadOptions(format, **options), lambda rows, read: None)
    work.import_files(tmp_path / "out", plain_files(path, tmp_path / "plain"), {}, keep_good=keep_good)
    return work.outcome


def exported(tmp_path: Path, format: str = "jsonl", found: Iterable[Any] = ()) -> Path:
    path = tmp_path / f"exported.{format}"
    path.write_bytes(b"".join(getattr(lines, format)(list(found) or list(SOME), {"query": "x"})))
    return path


def faults(tmp_path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((tmp_path / FAULTS).read_text("utf-8-sig"), newline="")))


class TestRoundTrip:
    """An export comes in again unchanged, in any archive format."""

    @pytest.mark.parametrize("format", ["jsonl", "parquet"])
    def test_an_export_has_the_same_digest_when_it_comes_back(self, tmp_path: Path, format: str) -> None:
        path = exported(tmp_path, format)
        outcome = bring(path, tmp_path)
        assert outcome.good == len(SOME) and outcome.bad == outcome.other_code == 0
        again = [one for split in dataset_folder.SPLITS for one in dataset_folder.examples(tmp_path / "out", split)]
        assert again == list(SOME)
        assert outcome.content == dataset_folder.read(tmp_path / "out").content
        assert outcome.same is (True if format == "jsonl" else None)

    def test_packed_files_are_unpacked(self, tmp_path: Path) -> None:
        plain = exported(tmp_path)
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.write(plain, "deep/lines.jsonl")
        with gzip.open(tmp_path / "a.gz", "wb") as file:
            file.write(plain.read_bytes())
        with pa.CompressedOutputStream(str(tmp_path / "a.zst"), "zstd") as file:
            file.write(plain.read_bytes())
        for name in ("a.zip", "a.gz", "a.zst"):
            assert bring(tmp_path / name, tmp_path).same is True

    def test_attempts_come_back_with_what_was_made_of_them(self, tmp_path: Path) -> None:
        found = [
            DatasetRollout(id=f"run1-step1-{n}", example=one, rollout=oracle(one), origin={"run": 1})
            for n, one in enumerate(SOME[:4])
        ]
        outcome = bring(exported(tmp_path, "jsonl", found), tmp_path, attempts=True)
        assert outcome.attempts == 4 and outcome.same is True
        stored = (tmp_path / "out" / "rollouts.jsonl").read_text("utf-8").splitlines()
        assert stored == [dumps(one) for one in found]

    def test_a_line_that_was_changed_or_lost_on_the_way_is_detected(self, tmp_path: Path) -> None:
        path = exported(tmp_path)
        complete = path.read_text("utf-8").splitlines(keepends=True)
        path.write_text("".join([*complete[:3], *complete[4:]]), "utf-8")
        assert bring(path, tmp_path).same is False
        path.write_text("".join(complete[:-1]), "utf-8")
        assert bring(path, tmp_path).same is None

    def test_one_that_does_not_hold_in_a_replay_is_bad_and_says_how(self, tmp_path: Path) -> None:
        good = SOME[0]
        wrong = replace(next(one for one in SOME if one.steps), id="wrong")
        step = wrong.steps[-1]
        wrong = replace(wrong, steps=(*wrong.steps[:-1], replace(step, observations=('{"no": 1}',) * len(step.calls))))
        path = write(tmp_path / "a.jsonl", [json.loads(dumps(good)), json.loads(dumps(wrong))])
        outcome = bring(path, tmp_path, keep_good=True)
        assert (outcome.good, outcome.bad) == (1, 1)
        (fault,) = faults(tmp_path)
        assert fault["number"] == "2" and "different result" in fault["why"]


class TestBadRows:
    """Either nothing or only the good rows come in; the report lists each bad row with its place."""

    def test_nothing_comes_in_unless_the_good_rows_are_requested(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.jsonl", [CHAT, {"messages": []}, CHAT | {"tools": 4}, CHAT])
        with pytest.raises(NothingImported, match="2 of 4 rows are invalid; nothing was imported"):
            bring(path, tmp_path, "openai")
        assert not list((tmp_path / "out").glob("*.jsonl"))
        assert [row["number"] for row in faults(tmp_path)] == ["2", "3"]
        outcome = bring(path, tmp_path, "openai", keep_good=True)
        assert (outcome.good, outcome.bad, outcome.left_out) == (1, 2, {import_dataset.REPEATS: 1})

    @pytest.mark.parametrize("id", ["a b", "../a", "x" * 41, "", "changes"])
    def test_an_id_that_no_address_takes_is_bad(self, tmp_path: Path, id: str) -> None:
        path = write(tmp_path / "a.jsonl", [json.loads(dumps(replace(SOME[0], id=id)))])
        with pytest.raises(NothingImported):
            bring(path, tmp_path)
        assert "is invalid" in faults(tmp_path)[0]["why"]

    def test_the_report_has_no_cell_that_a_spreadsheet_would_run(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_text('query,tools\n,"[]"\n"=HYPERLINK(1)","=cmd|x"\n', "utf-8")
        with pytest.raises(NothingImported):
            bring(path, tmp_path, "columns", mapped={"query": "query", "tools": "tools"})
        for row in faults(tmp_path):
            assert not any(cell.startswith(lines.TRIGGERS) for cell in row.values())

    def test_attempts_and_demonstrations_do_not_come_in_together(self, tmp_path: Path) -> None:
        one = SOME[0]
        both = [one, DatasetRollout(id="attempt", example=one, rollout=oracle(one))]
        outcome = bring(exported(tmp_path, "jsonl", both), tmp_path, keep_good=True, attempts=False)
        assert (outcome.good, outcome.bad) == (1, 1)

    @pytest.mark.parametrize(
        "record",
        ['"rollout":{', '{"rollout":' + "[" * 100_000, '{"rollout":NaN}', "[" * 70 + "]" * 70, "7", '["rollout"]', ""],
    )
    def test_a_record_within_a_row_is_no_more_trusted_than_a_row(self, tmp_path: Path, record: str) -> None:
        path = write(tmp_path / "x.jsonl", [{"record": record}])
        with pytest.raises(NothingImported, match="1 of 1 rows are invalid"):
            bring(path, tmp_path)

    @pytest.mark.parametrize(
        "odd",
        [
            {"turns": []},
            {"turns": [" "]},
            {"answers": ["one", "more"]},
            {"steps": [{"calls": []}]},
            {"steps": [{"calls": [{"name": "find", "arguments": {}}], "turn": 7}]},
            {"steps": [{"calls": [{"name": "find", "arguments": None}]}]},
            {"steps": [{"calls": [{"name": "of,two", "arguments": {}}]}]},
            {"edges": [[0, 9]]},
            {"world": {"seed": 10**30, "servers": []}},
            {"world": {"seed": 0, "servers": ["x" * 300]}},
            {"distractors": -1},
            {"distractors": 10**30},
        ],
    )
    def test_a_foreign_conversation_that_could_not_be_displayed_is_bad(
        self, tmp_path: Path, odd: dict[str, Any]
    ) -> None:
        chat = reader.outcome(CHAT, 1, "line", ReadOptions("openai"))
        assert isinstance(chat, reader.ParsedRow)
        row = json.loads(dumps(chat.made))
        assert isinstance(reader.outcome(row, 1, "line", ReadOptions("ours")), reader.ParsedRow)
        assert isinstance(reader.outcome({**row, **odd}, 1, "line", ReadOptions("ours")), reader.Fault)

    def test_an_attempt_that_could_not_be_displayed_is_bad(self, tmp_path: Path) -> None:
        example = next(one for one in SOME if one.steps)
        row = json.loads(dumps(DatasetRollout(id="a", example=example, rollout=oracle(example))))
        call, reward = row["rollout"]["calls"][0], row["rollout"]["reward"]
        for odd in (
            {"calls": [{**call, "level": 9}]},
            {"calls": [{**call, "turn": -1}]},
            {"calls": [{**call, "observation": "\0"}]},
            {"calls": []},
            {"reward": {**reward, "total": "1e999"}},
        ):
            bad = {**row, "rollout": {**row["rollout"], **odd}}
            assert isinstance(reader.outcome(bad, 1, "line", ReadOptions("ours")), reader.Fault), odd

    def test_an_id_that_comes_twice_with_other_contents_gets_an_ending(self, tmp_path: Path) -> None:
        one, other = SOME[0], replace(SOME[1], id=SOME[0].id)
        bring(exported(tmp_path, "jsonl", [one, other, one]), tmp_path)
        ids = [example.id for example in dataset_folder.examples(tmp_path / "out", "train")]
        assert len(ids) == 2 and ids[1].startswith(f"{one.id}-")


class TestTables:
    """Any table comes in once its columns are mapped."""

    MAPPED = {"query": "ask", "tools": "functions", "calls": "right", "answer": "says"}

    def test_columns_become_what_they_are_said_to_be(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, delimiter=";")
            table.writerow(["ask", "functions", "right", "says"])
            table.writerow(["Find\nit.", json.dumps(TOOLS), '[{"name": "find", "arguments": {"q": "it"}}]', "Here."])
            table.writerow(["Sing.", json.dumps(TOOLS), "", ""])
        bring(path, tmp_path, "columns", mapped=self.MAPPED)
        found = list(dataset_folder.examples(tmp_path / "out", "train"))
        assert [(one.turns, one.kind) for one in found] == [(("Find\nit.",), "chain"), (("Sing.",), "irrelevance")]
        assert found[0].steps[0].calls[0].arguments == {"q": "it"}

    @pytest.mark.parametrize(
        ("value", "comes"),
        [
            (float("nan"), None),
            (b"\xffbytes", "\ufffdbytes"),
            (date(2020, 2, 3), "2020-02-03"),
            (Decimal("1.50"), "1.50"),
            (2.5, 2.5),
        ],
    )
    def test_a_value_of_parquet_comes_in_as_json_has_it(self, tmp_path: Path, value: Any, comes: Any) -> None:
        calls = [{"name": "find", "arguments": {"q": value}}]
        path = tmp_path / "x.parquet"
        pq.write_table(pa.Table.from_pylist([{"query": "Find it.", "tools": json.dumps(TOOLS), "calls": calls}]), path)
        mapped = {name: name for name in ("query", "tools", "calls")}
        assert bring(path, tmp_path, "columns", mapped=mapped).good == 1
        (made,) = dataset_folder.examples(tmp_path / "out", "train")
        assert made.steps[0].calls[0].arguments == {"q": comes}

    def test_parquet_and_json_arrays_are_tables_too(self, tmp_path: Path) -> None:
        rows = [{"ask": f"Find {n}.", "functions": json.dumps(TOOLS)} for n in range(3)]
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
        (tmp_path / "a.json").write_text(json.dumps(rows))
        for name in ("a.parquet", "a.json"):
            assert bring(tmp_path / name, tmp_path, "columns", mapped=self.MAPPED).good == 3

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("only one column\nx\n", "at least two columns"),
            ("a,a\n1,2\n", "each once"),
            ('a,b\n"never closed,2\n', "not a valid table"),
            ("Just a letter.\n\nNothing more.", "at least two columns"),
        ],
    )
    def test_what_is_no_table_is_refused(self, tmp_path: Path, text: str, why: str) -> None:
        (tmp_path / "a.csv").write_text(text)
        with pytest.raises(UnreadableData, match=why):
            bring(tmp_path / "a.csv", tmp_path, "columns", mapped={"query": "a"})


class TestWhatItIsNot:
    """A file that is not what its name says is refused with its apparent type, and a bomb at the limit."""

    @pytest.mark.parametrize(
        ("start", "what"),
        [
            (b"\x89PNG\r\n\x1a\n", "a PNG image"),
            (b"%PDF-1.7", "a PDF document"),
            (b"\x80\x04\x95", "pickle, which is never read"),
            (b"<!DOCTYPE html><html>", "a web page"),
            (b"version https://git-lfs.github.com/spec/v1", "Git LFS"),
            (b'\xff\xfe{\x00"\x00', "UTF-16"),
            (b"", "file is empty"),
            (b"  \n ", "file is empty"),
            (b"abc\0def", "contains binary data"),
            (b"PAR1 and no more", "Parquet file is invalid or truncated"),
            (b"PK\x03\x04 and no more", "zip file is damaged or truncated"),
        ],
    )
    def test_it_is_named(self, tmp_path: Path, start: bytes, what: str) -> None:
        path = tmp_path / "data.jsonl"
        path.write_bytes(start)
        with pytest.raises(UnreadableData, match=what):
            bring(path, tmp_path)

    @pytest.mark.parametrize("pack", ["gzip", "zstd"])
    def test_a_packed_file_that_was_cut_short_is_damaged(self, tmp_path: Path, pack: str) -> None:
        plain, path = exported(tmp_path).read_bytes(), tmp_path / "a.packed"
        with pa.CompressedOutputStream(str(path), pack) as file:
            file.write(plain)
        path.write_bytes(path.read_bytes()[:-200])
        with pytest.raises(UnreadableData, match="damaged or truncated"):
            bring(path, tmp_path)

    @pytest.mark.parametrize("kind", ["gz", "zip"])
    def test_a_bomb_is_stopped_before_it_fills_the_disk(self, tmp_path: Path, kind: str) -> None:
        path, zeros = tmp_path / f"a.{kind}", b" " * (1 << 20)
        if kind == "gz":
            with gzip.open(path, "wb") as file:
                for _ in range(32):
                    file.write(zeros)
        else:
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
                packed.writestr("a.jsonl", zeros * 32)
        with pytest.raises(UnreadableData, match="unpack to more than"):
            bring(path, tmp_path)
        written = sum(file.stat().st_size for file in (tmp_path / "plain").glob("*"))
        assert written <= archive.ALWAYS + archive.MOST_RATIO * path.stat().st_size

    def test_a_preview_unpacks_only_the_beginning(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(archive, "CHUNK", 1000)
        monkeypatch.setattr(archive, "HEAD", 5000)
        with gzip.open(tmp_path / "a.gz", "wb") as file:
            file.write(exported(tmp_path).read_bytes())
        (tmp_path / "head").mkdir()
        archive.unpack_into(tmp_path / "a.gz", tmp_path / "head", head=True)
        (head,) = (tmp_path / "head").iterdir()
        text = head.read_text("utf-8")
        assert text.endswith("\n") and 0 < len(text) <= 5000

    def test_a_zip_of_other_things_says_what_it_holds(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr("word/document.xml", "x")
        with pytest.raises(UnreadableData, match=r"The zip contains word/document.xml"):
            bring(tmp_path / "a.zip", tmp_path)

    def test_what_is_packed_in_a_zip_cannot_name_its_place(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr("../../evil.jsonl", exported(tmp_path).read_text("utf-8"))
        (plain,) = plain_files(tmp_path / "a.zip", tmp_path / "plain")
        assert plain.parent == tmp_path / "plain"

    def test_more_rows_than_are_taken_are_not_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(import_dataset, "MOST_ROWS", 3)
        with pytest.raises(UnreadableData, match="more than 3 rows"):
            bring(exported(tmp_path), tmp_path)

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ('[{"a": 1}, {"a": 2}', "is not a valid JSON array"),
            ('[{"a": 1} {"a": 2}]', "no comma or bracket after item 1"),
            ('[{"a": 1},]', "is not a valid JSON array"),
            ('[{"a": 1}] {"a": 2}', "text after its JSON array"),
            ("[" * 200_000, "is not a valid JSON array"),
            ('[{"a": NaN}]', "NaN is not JSON"),
        ],
    )
    def test_an_array_that_is_none_is_refused(self, tmp_path: Path, text: str, why: str) -> None:
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(UnreadableData, match=why):
            list(rows.array_rows(tmp_path / "a.json"))

    def test_an_array_is_read_item_by_item_wherever_a_piece_ends(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        items = [*({"n": n, "text": "a]},[{" * n} for n in range(20)), 12345, "x", [1, 2], {}]
        (tmp_path / "a.json").write_text(json.dumps(items, indent=1))
        (tmp_path / "none.json").write_text(" [ ] ")
        for piece in (1, 7, 1 << 16):
            monkeypatch.setattr(rows, "PIECE", piece)
            found = [row for _, row in rows.array_rows(tmp_path / "a.json")]
            assert [row for row in found if isinstance(row, dict)] == [one for one in items if isinstance(one, dict)]
            assert sum(isinstance(row, BadLine) for row in found) == 3
            assert list(rows.array_rows(tmp_path / "none.json")) == []

    @pytest.mark.parametrize(
        ("row", "why"),
        [
            ({f"c{n}": n for n in range(rows.MOST_COLUMNS + 1)}, "columns; the limit is 500"),
            ({"c" * 300: 1}, "has more than 200 characters"),
            ({"a": [[]] * (rows.MOST_VALUES + 1)}, "more than 100,000 values"),
        ],
    )
    def test_a_row_with_more_than_a_page_or_memory_holds_is_bad(
        self, tmp_path: Path, row: dict[str, Any], why: str
    ) -> None:
        path = write(tmp_path / "a.jsonl", [row, CHAT])
        assert bring(path, tmp_path, "openai", keep_good=True).bad == 1
        assert why in faults(tmp_path)[0]["why"]

    @pytest.mark.parametrize("text", ["a,b\n" + "x" * 9_000_000, 'a,b\n"' + "x\n" * 5_000_000])
    def test_a_row_of_a_table_is_no_longer_than_any_other(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "a.csv").write_text(text)
        with pytest.raises(UnreadableData, match="more than 8,000,000 characters"):
            list(rows.csv_rows(tmp_path / "a.csv"))


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1"])
def test_a_cell_that_a_spreadsheet_would_run_is_made_harmless(cell: str) -> None:
    text = b"".join(lines.table(["a"], [[cell], [-0.5], [None], ["plain"]])).decode("utf-8-sig")
    assert [row[0] if row else "" for row in csv.reader(io.StringIO(text, newline=""))] == [
        "a", f"'{cell}", "-0.5", "", "plain"
    ]  # fmt: skip


def test_the_chat_format_is_what_our_own_importer_takes(tmp_path: Path) -> None:
    chained = [one for one in SOME if one.steps]
    outcome = bring(exported(tmp_path, "openai", chained), tmp_path, "openai")
    found = list(dataset_folder.examples(tmp_path / "out", "train"))
    assert outcome.good == len(chained)
    assert [one.turns for one in found] == [one.turns for one in chained]
    assert [step.calls for step in found[0].steps] == [step.calls for step in chained[0].steps]


def chat_of_two_calls(results: bool = True, id: str = "BK-77") -> dict[str, Any]:
    """Return a chat that looks a booking up in one user turn and cancels it in the next, by the id that was found."""

    def call(name: str, **arguments: Any) -> dict[str, Any]:
        return {"role": "assistant", "tool_calls": [{"function": {"name": name, "arguments": json.dumps(arguments)}}]}

    found, cancelled = ({"role": "tool", "content": json.dumps(one)} for one in ({"booking": id}, {"ok": True}))
    messages = [
        {"role": "user", "content": "Which booking do I have in Oslo?"},
        call("find_booking", city="Oslo"),
        *([found] if results else []),
        {"role": "assistant", "content": "One."},
        {"role": "user", "content": "Cancel it."},
        call("cancel_booking", booking=id, notify=True),
        *([cancelled] if results else []),
        {"role": "assistant", "content": "Done."},
    ]
    text, truth = {"type": "string"}, {"type": "boolean"}
    tools = [
        {"name": "find_booking", "parameters": {"type": "object", "properties": {"city": text}}},
        {
            "name": "cancel_booking",
            "parameters": {"type": "object", "properties": {"booking": text, "notify": truth}},
        },
    ]
    return {"messages": messages, "tools": tools}


def imported_example(row: dict[str, Any]) -> Example:
    found = reader.outcome(row, 1, "line", ReadOptions("openai"))
    assert isinstance(found, reader.ParsedRow)
    return found.example


def attempted(example: Example, order: Iterable[int]) -> Reward:
    calls = [call for step in example.steps for call in step.calls]
    made = tuple(ExecutedCall(calls[at], 3) for at in order)
    return reward_of(example, Rollout(example=example.id, transcript=(), calls=made, end="answered", reward=None))


class TestOrder:
    """The results of an imported conversation decide which of its steps needs which."""

    def test_a_call_with_a_value_that_a_result_gave_needs_that_result_so_reversed_calls_earn_less(self) -> None:
        example = imported_example(chat_of_two_calls())
        assert (example.edges, example.order_unknown) == (((0, 1),), False)
        oracle_, reversed_ = attempted(example, (0, 1)), attempted(example, (1, 0))
        assert oracle_.total == pytest.approx(1.3) and oracle_.coverage == 1.0
        assert reversed_.coverage == 0.5 and [one.in_order for one in reversed_.evidence] == [False, True]

    def test_without_results_the_order_is_unknown_and_says_so_wherever_it_would_count(self, tmp_path: Path) -> None:
        example = imported_example(chat_of_two_calls(results=False))
        assert (example.edges, example.order_unknown) == ((), True)
        reward = attempted(example, (1, 0))
        assert reward.order_unknown and {one.in_order for one in reward.evidence} == {None}
        assert loads(Reward, dumps(reward)) == reward and loads(Example, dumps(example)) == example
        path = write(tmp_path / "a.jsonl", [chat_of_two_calls(results=False)])
        make(path, tmp_path / "out", FORMATS["openai"])
        manifest = dataset_folder.read(tmp_path / "out")
        assert manifest.splits["train"].order_unknown == 1
        assert "| order of steps unknown | 1 | 0 |" in card(manifest, ())

    @pytest.mark.parametrize("id", ["7", "Oslo"])
    def test_a_value_that_the_user_says_or_that_any_result_has_makes_no_edge(self, id: str) -> None:
        assert imported_example(chat_of_two_calls(id=id)).edges == ()

    def test_what_was_made_here_is_written_as_it_always_was(self) -> None:
        assert not any("order_unknown" in dumps(one) for one in SOME)


class TestNamesOfOurs:
    """A foreign tool with the name of one of ours is not treated as ours."""

    def test_a_tool_of_others_with_a_name_of_ours_counts_as_theirs(self, tmp_path: Path) -> None:
        row = json.loads(json.dumps(chat_of_two_calls()).replace("find_booking", "list_accounts"))
        bring(write(tmp_path / "a.jsonl", [row]), tmp_path, "openai")
        part = dataset_folder.read(tmp_path / "out").splits["train"]
        assert part.foreign_tools == {"cancel_booking": 1, "list_accounts": 1} and part.own_tools == {}
        assert "of 343 tools" not in dataset_folder.format_manifest(dataset_folder.read(tmp_path / "out"))

    def test_a_tool_of_ours_that_went_through_another_format_counts_as_ours(self, tmp_path: Path) -> None:
        chained = next(one for one in SOME if one.steps)
        bring(exported(tmp_path, "openai", [chained]), tmp_path, "openai")
        part = dataset_folder.read(tmp_path / "out").splits["train"]
        assert part.foreign_tools == {} and part.own_tools == part.tools
