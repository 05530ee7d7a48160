"""A finished data set in a model's words: other texts, the same conversations, and counts of who wrote what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from starlette.responses import Response

from tests.prove.serving import Answering, Serve, rewriting
from training_worker.core.trajectory import Example
from training_worker.datasets import dataset_folder
from training_worker.datasets.paraphrase import paraphrase_all, paraphrase_folder
from training_worker.datasets.replay import verify
from training_worker.endpoint import Endpoint, EndpointFailed
from training_worker.synthesis.validate import require_valid


def listening(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"Well, listen: {text}" for text in texts)


def test_only_the_words_change_and_the_conversation_still_holds(
    serve: Serve, examples: tuple[Example, ...], tmp_path: Path
) -> None:
    some = examples[:20]
    with Endpoint(serve(rewriting).settings(tmp_path)) as endpoint:
        written = paraphrase_all(some, endpoint)
    for old, new in zip(some, written, strict=True):
        wording = ("user: model", "assistant: model") * len(old.turns)
        assert new == replace(old, turns=listening(old.turns), answers=listening(old.answers), wording=wording)
        require_valid(new)


def failing_after(calls: int) -> Answering:
    left = iter(range(calls))
    return lambda body: rewriting(body) if next(left, None) is not None else Response(status_code=503)


def test_interrupted_work_resumes_without_repeated_requests_and_threads_change_nothing(
    serve: Serve, examples: tuple[Example, ...], tmp_path: Path
) -> None:
    some = examples[:25]
    with Endpoint(serve(rewriting).settings(tmp_path / "one", parallel=1)) as endpoint:
        expected = paraphrase_all(some, endpoint)
        needed = endpoint.requests
    first = serve(failing_after(25))
    with Endpoint(first.settings(tmp_path / "two", parallel=8)) as endpoint, pytest.raises(EndpointFailed):
        paraphrase_all(some, endpoint)
    second = serve(rewriting)
    with Endpoint(second.settings(tmp_path / "two", parallel=8)) as endpoint:
        assert paraphrase_all(some, endpoint) == expected
    assert needed <= 25 + len(second.requests) <= needed + 8, "two threads may ask the same thing at once"


def test_a_folder_becomes_another_one_that_holds_and_counts_its_authors(
    serve: Serve, data_set: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with Endpoint(serve(rewriting).settings(tmp_path)) as endpoint:
        after = paraphrase_folder(data_set, out, endpoint)
        with pytest.raises(dataset_folder.DatasetExistsError):
            paraphrase_folder(data_set, out, endpoint)
    found = verify(out)
    assert found.holds and found.held == 48
    before = dataset_folder.read(data_set)
    assert dataset_folder.read(out) == after
    assert before.teacher == "programmatic" and after.teacher == "paraphrase by scripted"
    assert after.settings["paraphrased"] == before.content != after.content
    for split in dataset_folder.SPLITS:
        old, new = list(dataset_folder.examples(data_set, split)), list(dataset_folder.examples(out, split))
        assert [one.id for one in old] == [one.id for one in new]
        turns = sum(len(one.turns) for one in old)
        assert before.splits[split].wording == {}
        assert after.splits[split].wording == {"assistant: model": turns, "user: model": turns}
    assert "words: assistant: model" in dataset_folder.format_manifest(after)
