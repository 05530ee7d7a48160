"""`manage.py synthesize`, `verify` and the other commands about data: their output, also for invalid input."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from prove_web.trajectories.management.commands.synthesize import Command
from tests.prove.serving import MODEL, Serve, Served, rewriting
from training_worker.core.trajectory import Split
from training_worker.datasets import dataset_folder, recipes
from training_worker.synthesis.dataset import Progress
from training_worker.synthesis.shards import open_shard_folder

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, graph_folder: Path, settings: Any, tmp_path: Path) -> None:
    """A recipe of a few conversations, and a data folder with the graph."""
    settings.PROVE_DATA = tmp_path / "data"
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "graph").symlink_to(graph_folder)
    few = recipes.plan("few", "a few", (6, 1, 1), (2, 0, 0))
    monkeypatch.setitem(recipes.PLANS, "few", few)


def said(command: str, *arguments: object, **options: Any) -> str:
    out = io.StringIO()
    call_command(command, *map(str, arguments), stdout=out, **options)
    return out.getvalue()


def test_a_data_set_is_made_and_holds(tmp_path: Path) -> None:
    output = said("synthesize", "few", out=tmp_path / "set", processes=1)
    assert "train: 8 conversations (6 chain, 1 irrelevance, 1 missing_function)" in output
    assert "10 of 10 hold" in said("verify", tmp_path / "set")
    lines = (tmp_path / "set" / "train.jsonl").read_text("utf-8").splitlines()
    (tmp_path / "set" / "train.jsonl").write_text(
        "\n".join([*lines[:-1], lines[-1].replace('"digests":["', '"digests":["x')]) + "\n"
    )
    with pytest.raises(CommandError, match="has drifted"):
        said("verify", tmp_path / "set")
    out = io.StringIO()
    with pytest.raises(CommandError, match="has drifted"):
        call_command("verify", str(tmp_path / "set"), json=True, stdout=out)
    report = json.loads(out.getvalue())
    assert report["held"] == 9 and report["groups"]["world"]["count"] == 1 and report["changed"] == ["train.jsonl"]


@pytest.mark.long
def test_a_data_set_comes_with_parquet_and_a_card_and_is_not_made_over(tmp_path: Path) -> None:
    said("synthesize", "few", out=tmp_path / "set", processes=1)
    card = (tmp_path / "set" / "README.md").read_bytes()
    with pytest.raises(CommandError, match=r"holds a finished dataset.*--replace"):
        said("synthesize", "few", out=tmp_path / "set", processes=1)
    (tmp_path / "set" / "train.parquet").unlink()
    assert "datasets.load_dataset" in said("export", tmp_path / "set")
    assert (tmp_path / "set" / "train.parquet").exists() and (tmp_path / "set" / "README.md").read_bytes() == card


QUERIES = [{"query": f"Question {n}?", "tools": '[{"name": "f", "parameters": {}}]', "answers": "[]"} for n in range(3)]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_what_others_made_is_imported_and_gives_a_recipe_its_abstention(tmp_path: Path) -> None:
    queries = write(tmp_path / "queries.jsonl", [*QUERIES, QUERIES[0], QUERIES[0] | {"answers": '[{"name": "f"}]'}])
    output = said("import_data", queries, format="xlam-irrelevance", out=tmp_path / "theirs")
    assert "train: 3 conversations (3 irrelevance)" in output
    assert "1 left out: a call is due" in output and "1 left out: it repeats another" in output
    assert "3 of 3 hold" in said("verify", tmp_path / "theirs")
    output = said("synthesize", "few", out=tmp_path / "set", abstention=tmp_path / "theirs", processes=1)
    assert "train: 8 conversations (6 chain, 1 irrelevance, 1 missing_function)" in output
    assert '"source":"xlam-irrelevance"' in (tmp_path / "set" / "train.jsonl").read_text()
    assert "1 of the conversations in which no call is required were imported" in (
        (tmp_path / "set" / "README.md").read_text().replace("\n", " ")
    )


def test_imported_calls_are_said_to_be_not_certified(tmp_path: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [{"role": "user", "content": "Do it"}, {"role": "assistant", "tool_calls": [call]}]
    chats = write(tmp_path / "chats.jsonl", [{"messages": messages, "tools": [{"name": "f"}]}])
    output = said("import_data", chats, format="openai", out=tmp_path / "theirs")
    assert "1 train conversations have calls and are not certified" in output
    output = said("verify", tmp_path / "theirs")
    assert "1 were imported with calls and cannot be replayed" in output and "0 of 0 hold" in output
    with pytest.raises(CommandError, match="so no recipe takes them"):
        said("synthesize", "few", out=tmp_path / "set", abstention=tmp_path / "theirs", processes=1)
    assert not (tmp_path / "set" / "train.jsonl").exists()


@pytest.mark.long
def test_imported_calls_are_certified_by_a_server_that_the_operator_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "list_accounts", "arguments": "{}"}}
    lost = {"id": "1", "type": "function", "function": {"name": "get_account", "arguments": '{"account": "ACC-0"}'}}
    tools = [{"name": "list_accounts"}, {"name": "get_account"}]
    chats = [{"role": "user", "content": "Do it"}, {"role": "assistant", "tool_calls": [call]}]
    rows = [{"messages": chats, "tools": tools}, {"messages": [chats[0], {**chats[1], "tool_calls": [lost]}]}]
    file = write(tmp_path / "chats.jsonl", [one | {"tools": tools} for one in rows])
    given = {"format": "openai", "out": tmp_path / "theirs", "server": ["bank"]}
    monkeypatch.delenv("PROVE_EXTERNAL", raising=False)
    with pytest.raises(CommandError, match="PROVE_EXTERNAL is not set"):
        said("import_data", file, **given)
    allowed = tmp_path / "servers.toml"
    monkeypatch.setenv("PROVE_EXTERNAL", str(allowed))
    with pytest.raises(CommandError, match=r"servers\.toml cannot be read"):
        said("import_data", file, **given)
    allowed.write_text('[gone]\ncommand = ["/nowhere/server"]\n')
    with pytest.raises(CommandError, match="has no server bank; it has gone"):
        said("import_data", file, **given)
    with pytest.raises(CommandError, match=r"gone did not start.*Nothing was imported"):
        said("import_data", file, **given | {"server": ["gone"]})
    assert not (tmp_path / "theirs").exists()
    command = json.dumps([sys.executable, "-m", "mcp_servers", "banking", "--size", "small"])
    allowed.write_text(f"[bank]\ncommand = {command}\nenvironment = {{PYTHONPATH = {json.dumps(str(ROOT))}}}\n")
    output = said("import_data", file, **given)
    assert "1 certified: same results twice" in output and "1 rejected: a call fails (bank)" in output
    assert ": get_account, step 1" in output and "1 train conversations have calls and are not certified" in output
    output = said("verify", tmp_path / "theirs")
    assert "1 were certified on bank at their import" in output and "0 of 0 hold" in output
    assert "  1 rejected: a call fails" in output
    report = json.loads(said("verify", tmp_path / "theirs", json=True))
    assert report["elsewhere"] == {"bank": 1} and report["checks"] == {"same": 1, "refused": 1}
    card = (tmp_path / "theirs" / "README.md").read_text()
    assert "on fresh sessions of bank" in card and "| calls rejected: a call fails | 1 | 0 |" in card


def test_a_file_with_bad_rows_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    queries = write(tmp_path / "queries.jsonl", [*QUERIES, {"query": 5}])
    with pytest.raises(CommandError, match=r"nothing was imported; invalid rows: 1\..*\n.*line 4: query"):
        said("import_data", queries, format="xlam-irrelevance", out=tmp_path / "theirs")
    with pytest.raises(CommandError, match=r"nowhere\.jsonl: No such file"):
        said("import_data", tmp_path / "nowhere.jsonl", format="openai", out=tmp_path / "theirs")
    assert not (tmp_path / "theirs").exists()


def test_abstention_of_a_folder_that_is_no_data_set_says_what_makes_one(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"manifest\.json is not there; `manage\.py import_data`"):
        said("synthesize", "few", out=tmp_path / "set", abstention=tmp_path, processes=1)


def test_exporting_what_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"manifest\.json is not there"):
        said("export", tmp_path)


def test_ctrl_c_keeps_what_is_made_and_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, tells = tmp_path / "set", Command.wrap_progress

    def wrap_progress(self: Command, split: Split, progress: Progress) -> Progress:
        tell = tells(self, split, progress)

        def report(done: int, total: int) -> None:
            tell(done, total)
            if list(out.glob("shards/*.jsonl")):
                os.kill(os.getpid(), signal.SIGINT)

        return report

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with (
            monkeypatch.context() as pressed,
            pytest.raises(CommandError, match="stopped; the same command") as stopped,
        ):
            pressed.setattr(Command, "wrap_progress", wrap_progress)
            said("synthesize", "few", out=out, processes=1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert stopped.value.returncode == 130
    assert "of 8 exist from before; resuming" in said("synthesize", "few", out=out, processes=1)
    said("synthesize", "few", out=tmp_path / "other", processes=1)
    assert contents(out) == contents(tmp_path / "other")


def contents(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_that_another_command_is_at_is_left_to_it(tmp_path: Path) -> None:
    with (
        open_shard_folder(tmp_path / "set" / "shards"),
        pytest.raises(CommandError, match="is in use by another command; name another folder with --out"),
    ):
        said("synthesize", "few", out=tmp_path / "set", processes=1)


@pytest.mark.parametrize("processes", [0, -1, 1000])
def test_a_number_of_processes_that_makes_no_sense_is_refused(processes: int, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="a number from 1 to 256"):
        said("synthesize", "few", out=tmp_path, processes=processes)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match=r"file.*name another folder with --out"):
        said("synthesize", "few", out=tmp_path / "file" / "set", processes=1)


def test_a_recipe_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(CommandError, match="prove-13k"):
        said("synthesize", "prove-14k")


def test_verifying_what_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"manifest.json is not there; `manage.py synthesize`"):
        said("verify", tmp_path)
    (tmp_path / "manifest.json").write_text('{"recipe":')
    with pytest.raises(CommandError, match="not a manifest of this version"):
        said("verify", tmp_path)


@pytest.fixture
def knowing(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Served:
    """An endpoint with a model that rewrites well and says that no tool depends on another."""
    verdict = '{"a_to_b": "none", "b_to_a": "none"}'
    there = serve(lambda body: rewriting(body) if "Draft: " in body["messages"][1]["content"] else verdict)
    monkeypatch.setenv("PROVE_LLM_URL", there.url)
    monkeypatch.setenv("PROVE_LLM_MODEL", MODEL)
    return there


@pytest.mark.long
def test_a_data_set_in_a_models_words_holds_and_costs_nothing_the_second_time(tmp_path: Path, knowing: Served) -> None:
    said("synthesize", "few", out=tmp_path / "set", processes=1)
    output = said("paraphrase", tmp_path / "set", out=tmp_path / "worded")
    assert "words: assistant: model " in output and f"{len(knowing.requests)} requests" in output
    assert "10 of 10 hold" in said("verify", tmp_path / "worded")
    files = [path for path in (tmp_path / "worded").rglob("*") if path.is_file()]
    before = [path.read_bytes() for path in files]
    with pytest.raises(CommandError, match="holds a finished dataset"):
        said("paraphrase", tmp_path / "set", out=tmp_path / "worded")
    again = said("paraphrase", tmp_path / "set", out=tmp_path / "worded", replace=True)
    assert "0 requests, 0 tokens" in again
    assert [path.read_bytes() for path in files] == before


def test_paraphrasing_says_in_a_line_what_is_wrong(
    tmp_path: Path, knowing: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CommandError, match="name another folder"):
        said("paraphrase", tmp_path / "set", out=tmp_path / "set")
    with pytest.raises(CommandError, match=r"manifest.json is not there; `manage.py synthesize`"):
        said("paraphrase", tmp_path / "set", out=tmp_path / "worded")
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match=r"file.*name another folder with --out"):
        said("paraphrase", tmp_path / "set", out=tmp_path / "file" / "worded")
    monkeypatch.delenv("PROVE_LLM_URL")
    for command in ("paraphrase", "classify"):
        with pytest.raises(CommandError, match="set PROVE_LLM_URL to its address"):
            said(command, *([tmp_path / "set"] if command == "paraphrase" else []), out=tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_a_models_view_of_the_tools_is_held_against_the_graph(tmp_path: Path, knowing: Served) -> None:
    output = said("classify", servers="video_meeting", out=tmp_path / "agreement.json")
    assert "scripted: 90 ordered pairs, 0 without an answer" in output and "Cohen's kappa 0.000" in output
    assert "verified explicit, predicted none" in output
    agreement = json.loads((tmp_path / "agreement.json").read_text("utf-8"))
    assert agreement["kinds"]["explicit"]["recall"] is None and agreement["kinds"]["none"]["recall"] < 1
    with pytest.raises(CommandError, match="Unknown server 'steam_engine'"):
        said("classify", servers="banking,steam_engine")


@pytest.mark.long
def test_a_language_model_teaches_a_data_set_that_is_compared_with_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    monkeypatch.setitem(recipes.PLANS, "quiet", recipes.plan("quiet", "nothing to do", (0, 3, 1), (0, 1, 0)))
    for name in ("URL", "MODEL", "PARALLEL"):
        monkeypatch.delenv(f"PROVE_LLM_{name}", raising=False)
    with pytest.raises(CommandError, match="No endpoint is set: set PROVE_LLM_URL"):
        said("synthesize", "quiet", out=tmp_path / "set", language_model=True, processes=1)
    monkeypatch.setenv("PROVE_LLM_URL", serve(rewriting).url)
    monkeypatch.setenv("PROVE_LLM_MODEL", MODEL)
    monkeypatch.setenv("PROVE_LLM_CACHE", str(tmp_path / "answers"))
    output = said("synthesize", "quiet", out=tmp_path / "set", language_model=True, processes=1)
    assert "train: 4 conversations (1 irrelevance, 3 missing_function)" in output
    assert "5 of 5 hold" in said("verify", tmp_path / "set")
    said("synthesize", "quiet", out=tmp_path / "other", processes=1)
    measured = json.loads(said("compare_data", tmp_path / "set", tmp_path / "other", json=True))
    assert [one["teacher"] for one in measured] == [MODEL, "programmatic"]
    assert [one["conversations"] for one in measured] == [4, 4]
    turns = [
        sum(len(one.turns) for one in dataset_folder.examples(tmp_path / "set", split))
        for split in dataset_folder.SPLITS
    ]
    assert f"| wording: user: model | {turns[0]} | {turns[1]} |" in (tmp_path / "set" / "README.md").read_text("utf-8")
    assert "programmatic" in said("compare_data", tmp_path / "set", tmp_path / "other")
    with pytest.raises(CommandError, match="is not there"):
        said("compare_data", tmp_path / "set", tmp_path / "nothing")
