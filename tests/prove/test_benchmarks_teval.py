"""T-Eval: what scores all and what nothing, what hostile answers reach, and what an incomplete folder gives."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.prove.sentences import tiny_sentences
from tests.prove.serving import Serve
from tests.prove.teval_files import FILES, NOT_EMBEDDED, written
from training_worker.chat.protocol import ChatModel, ScriptedModel
from training_worker.core.trajectory import Message, UnreadableData
from training_worker.endpoint import Endpoint
from training_worker.evaluation import results_text
from training_worker.evaluation.compare import NotComparable, require_comparable
from training_worker.evaluation.environment import NotInstalled
from training_worker.evaluation.policies import endpoint_policy, silent
from training_worker.evaluation.protocol import Item, OutOfRoom, Policy, identity_of, select_items
from training_worker.evaluation.registry import open_benchmark
from training_worker.evaluation.report import Report
from training_worker.evaluation.request import EvaluationRequest, have_done
from training_worker.evaluation.results import Results, results_in
from training_worker.evaluation.runner import evaluate
from training_worker.evaluation.teval.benchmark import Teval
from training_worker.evaluation.teval.entries import CATEGORIES, DIMENSIONS

TINY = "reason_str_v2.json"


@pytest.fixture(scope="module")
def embedding(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers", reason="torch is not installed")
    return tiny_sentences(tmp_path_factory.mktemp("sentences"))


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory, embedding: Path) -> Iterator[Teval]:
    """All files, with a real embedding model in its process."""
    with Teval(written(tmp_path_factory.mktemp("teval")), embedding) as benchmark:
        yield benchmark


@pytest.fixture
def plain(tmp_path: Path) -> Teval:
    """The files whose rules need no embedding."""
    return Teval(written(tmp_path / "plain", NOT_EMBEDDED), tmp_path / "none")


def test_results_lie_apart_from_the_data_that_a_person_put_there(tmp_path: Path) -> None:
    data = written(tmp_path / "benchmarks" / "teval", NOT_EMBEDDED)
    before = {file: file.read_bytes() for file in data.rglob("*")}
    done = have_done(EvaluationRequest(benchmark="teval", source="silent"), tmp_path)
    assert done.report.complete and done.folder.is_relative_to(tmp_path / "benchmarks" / "results" / "teval")
    shutil.rmtree(tmp_path / "benchmarks" / "results")
    assert {file: file.read_bytes() for file in data.rglob("*")} == before


def run(teval: Teval, policy: Policy, folder: Path, **more: Any) -> Report:
    with Results(folder, identity_of(teval, policy)) as results:
        return evaluate(teval, policy, select_items(teval.items()), results, parallel=2, **more)


def saying(*texts: str) -> Policy:
    return Policy(model="scripted", speak=lambda item: ScriptedModel(texts))


def scores(report: Report) -> dict[str, float | None]:
    return {one.name: one.score and one.score.accuracy for one in report.categories}


def test_an_oracle_scores_all_and_again(full: Teval, tmp_path: Path) -> None:
    policy = Policy(model="oracle", speak=full.oracle)
    reports = [run(full, policy, tmp_path / str(time)) for time in (1, 2)]
    assert scores(reports[0]) == dict.fromkeys(CATEGORIES, 1.0) and reports[0].complete and not reports[0].failures
    assert reports[0].overall and reports[0].overall.accuracy == 1.0 and reports[0] == reports[1]
    assert [group.name for group in reports[0].groups] == list(DIMENSIONS)


def test_silence_is_worth_nothing_but_what_its_likeness_to_a_thought_is(full: Teval, tmp_path: Path) -> None:
    report = run(full, Policy(model="silent", speak=silent), tmp_path)
    ((likeness,),) = full.cosines([""], [FILES[TINY]["query_1"]["ground_truth"]["thought"]])
    assert 0 < likeness < 1
    assert scores(report) == {**dict.fromkeys(CATEGORIES, 0.0), "reason_str": likeness}
    assert report.failures["malformed_answer"] == 13 and sum(report.failures.values()) == 17


def test_a_dimension_is_the_mean_of_its_formats_and_all_is_the_mean_of_dimensions(full: Teval, tmp_path: Path) -> None:
    """A model that is right in JSON alone fails review, which has no JSON."""

    def speak(item: Item) -> ChatModel:
        return full.oracle(item) if "_json" in item.category else ScriptedModel(["no"])

    report = run(full, Policy(model="json", speak=speak), tmp_path)
    found = scores(report)
    for group in report.groups:
        of_parts = [found[name] or 0.0 for name in DIMENSIONS[group.name]]
        assert group.score and group.score.accuracy == pytest.approx(sum(of_parts) / len(of_parts))
    of_groups = [group.score.accuracy for group in report.groups if group.score]
    assert report.overall and report.overall.accuracy == pytest.approx(sum(of_groups) / 6)
    assert report.overall.accuracy != pytest.approx(sum(one or 0.0 for one in found.values()) / len(found))
    rows = {row[0]: row[3] for row in results_text.iter_report_rows(report)}
    assert rows["review (mean)"] == "0.0" and rows["instruct (mean)"] == "50.0" and "overall (of the means)" in rows


def test_thought_tool_and_arguments_are_scored_on_one_answer(full: Teval, tmp_path: Path) -> None:
    answered = []

    def speak(item: Item) -> ChatModel:
        answered.append(item.id)
        return full.oracle(item)

    items = select_items(full.items(), ["reason_json", "retrieve_json", "understand_json"], trials=2)
    policy = Policy(model="counted", speak=speak)
    with Results(tmp_path, identity_of(full, policy)) as results:
        report = evaluate(full, policy, items, results, parallel=4)
    assert len(items) == 12 and len(answered) == 4 and scores(report) == dict.fromkeys(scores(report), 1.0)
    assert all(one.pass_hat == (1.0, 1.0) for one in report.categories)
    assert {result.rollout.transcript[-1].role for result in results_in(tmp_path).values()} == {"assistant"}


def test_cut_off_half_way_and_resumed_it_reports_the_same(full: Teval, tmp_path: Path) -> None:
    def interrupted(done: int, total: int) -> None:
        if done == total // 2:
            raise KeyboardInterrupt

    policy = Policy(model="oracle", speak=full.oracle)
    with pytest.raises(KeyboardInterrupt):
        run(full, policy, tmp_path / "cut", progress=interrupted)
    full.answers.clear()  # as in another process
    assert len(results_in(tmp_path / "cut")) == len(full.items()) // 2
    assert run(full, policy, tmp_path / "cut") == run(full, policy, tmp_path / "once")


@pytest.mark.parametrize("style", ["tools", "prompt"])
def test_an_endpoint_gets_the_prompt_as_it_is_and_no_tools(
    plain: Teval, serve: Serve, tmp_path: Path, style: Any
) -> None:
    served = serve(lambda body: "Answer: B")
    with Endpoint(served.settings(tmp_path / "answers")) as endpoint:
        (item,) = select_items(plain.items(), ["review_str"])
        result = plain.attempt(item, endpoint_policy(endpoint, style, 0.0))
    assert result.passed and result.score == 1.0 and result.tokens == 10
    (body,) = served.requests
    assert "tools" not in body
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
    assert body["messages"][-1]["content"] == "Up, 2009"


def test_a_folder_with_some_of_the_files_is_evaluated_on_those_and_names_the_absent(
    plain: Teval, tmp_path: Path
) -> None:
    report = run(plain, Policy(model="oracle", speak=plain.oracle), tmp_path / "results")
    assert report.overall is None and set(scores(report).values()) == {1.0}
    assert not set(scores(report)) & set(report.absent) and {*scores(report), *report.absent} == set(CATEGORIES)
    said = "\n".join(results_text.iter_report_notes(report))
    assert f"there is no plan_json: plan_json_v2.json is not in {tmp_path / 'plain'}" in said
    assert "there is no overall score" in said
    assert [group.name for group in report.groups if group.score] == ["instruct", "review"]


def test_a_category_without_an_entry_in_its_file_is_absent(tmp_path: Path) -> None:
    file = written(tmp_path, ["instruct_v2.json"]) / "instruct_v2.json"
    file.write_text(json.dumps({"query_1": FILES[file.name]["query_1"]}), "utf-8")
    assert Teval(tmp_path, tmp_path).absent["instruct_str"] == f"{file} has none"


def test_what_is_missing_is_reported_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(NotInstalled, match=r"not in .*/teval: none of instruct_v2\.json.* put its files there"):
        open_benchmark("teval", tmp_path, {}).__enter__()
    with pytest.raises(NotInstalled, match=r"none in .*/teval-embedding: .*evaluate teval --install"):
        open_benchmark("teval", tmp_path, {"data": str(written(tmp_path / "data"))}).__enter__()


Spoil = Callable[[dict[str, Any]], object]
SPOILT: dict[str, tuple[str, Spoil, str]] = {
    "empty": ("plan_str_v2.json", lambda file: file.clear(), "it has no entries"),
    "no prompt": ("plan_str_v2.json", lambda file: file["query_1"].pop("origin_prompt"), "entry query_1"),
    "empty prompt": ("plan_str_v2.json", lambda file: file["query_1"].update(origin_prompt=[]), "no message"),
    "a strange role": (
        "plan_str_v2.json",
        lambda file: file["query_1"].update(origin_prompt=[{"role": "judge", "content": ""}]),
        r"query_1.origin_prompt.0.role",
    ),
    "no names": ("plan_str_v2.json", lambda file: file["query_1"].update(meta={}), "meta lacks API_list"),
    "another plan": ("plan_json_v2.json", lambda file: file["query_1"].update(ground_truth={}), "is not a plan"),
    "old format": ("plan_json_v2.json", lambda file: file["query_1"]["meta"].update(prompt_type="ReWOO"), "'ReWOO'"),
    "no template": ("instruct_v2.json", lambda file: file["query_2"].update(template={}), "template lacks"),
    "no format": ("instruct_v2.json", lambda file: file["query_1"].update(meta_data={}), "'none' is not valid"),
    "no call": ("instruct_v2.json", lambda file: file["query_1"].update(ground_truth={"args": {}}), "lacks action"),
    "no step": ("reason_str_v2.json", lambda file: file["query_1"].update(ground_truth=[]), "is not a step"),
    "no choice": ("review_str_v2.json", lambda file: file["query_1"].update(ground_truth={}), "lacks answer"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_file_that_is_none_of_t_eval_is_named_and_never_scored(tmp_path: Path, name: str) -> None:
    file, spoil, why = SPOILT[name]
    content = json.loads(json.dumps(FILES[file]))
    spoil(content)
    (tmp_path / file).write_text(json.dumps(content), "utf-8")
    with pytest.raises(UnreadableData, match=f"{file}.*{why}.*not a file of T-Eval"):
        Teval(tmp_path, tmp_path)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"a": ', b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_json_object_is_no_file_of_t_eval(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "review_str_v2.json").write_bytes(content)
    with pytest.raises(UnreadableData, match=r"review_str_v2\.json: .*not a file of T-Eval"):
        Teval(tmp_path, tmp_path)


def test_other_data_is_another_version_and_another_embedding_another_setting(full: Teval, plain: Teval) -> None:
    one, other = (identity_of(teval, saying()) for teval in (full, plain))
    with pytest.raises(NotComparable, match="one version"):
        require_comparable(one, other)
    assert list(one.settings) == ["embedding"] and other.settings == {}
    with pytest.raises(NotComparable, match="different embedding"):
        require_comparable(one, replace(one, settings={"embedding": "of another model"}))


def test_a_folder_without_an_embedding_model_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="torch is not installed")
    with pytest.raises(UnreadableData, match=r"is not a usable embedding model: .* holds no weights"):
        Teval(written(tmp_path / "data", [TINY]), tmp_path)


def test_the_order_of_a_file_changes_no_score(plain: Teval, tmp_path: Path) -> None:
    for name in NOT_EMBEDDED:
        (tmp_path / name).write_text(json.dumps(dict(reversed(FILES[name].items()))), "utf-8")
    answer, turned = (
        saying('{"goal": "", "name": "FilmDouban.search", "args": {"year": 2009}}'),
        Teval(tmp_path, tmp_path),
    )
    assert [item.id for item in turned.items()] != [item.id for item in plain.items()]
    once, again = ({one.id: found(teval, one, answer) for one in teval.items()} for teval in (plain, turned))
    assert once == again and 0 < sum(score for score, _ in once.values()) < len(once)


def found(teval: Teval, item: Item, policy: Policy) -> tuple[float, str]:
    result = teval.attempt(item, policy)
    return result.value, result.failure


HOSTILE = [
    "__import__('os').system('touch hostile')",
    '[{"id": 0, "name": "FilmDouban.search", "args": __import__("os").system("touch hostile")}]',
    "[" * 5_000,
    "{'a':" * 90 + "1" + "}" * 90,
    '{"thought": 0x' + "f" * 20_000 + ', "name": "a", "args": {"film": 0x' + "f" * 20_000 + "}}",
    "a" * 99_000,
    "a." * 49_000,
    "goal:" * 9_000 + "name:" * 9_000,
    "FilmDouban.search\n" * 5_000,
    "x" * 100_001,
    "\ud83d lone",
    "'\\d' \\N{no such}",
    "</think>",
    "1e999",
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:12])
def test_any_text_ends_in_a_score_and_runs_nothing(
    full: Teval, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for item in full.items():
        score, failure = found(full, item, saying(text))
        assert 0 <= score <= 1 and (score == 1) == (not failure)
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_a_prompt_that_is_longer_than_the_model_reads_is_its_own_failure(plain: Teval) -> None:
    class Full:
        def reply(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> str:
            raise OutOfRoom("the conversation has 9,000 tokens and the model reads 4,096")

    result = plain.attempt(plain.items()[0], replace(saying(), speak=lambda item: Full()))
    assert (result.failure, result.score, result.passed) == ("context_limit", 0.0, False)
