"""Sentence embeddings: the mean over tokens, whatever a text is batched with, of folders that run no code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.prove.sentences import tiny_sentences
from training_worker.core.trajectory import UnreadableData
from training_worker.policy.embedding import Sentences

TEXTS = ["", "Search a film.", "Search a film", "Écris «tout» dans un fichier", "x" * 300, "search_film {'name': 'Up'}"]


@pytest.fixture(scope="module")
def sentences(tmp_path_factory: pytest.TempPathFactory) -> Sentences:
    return Sentences(tiny_sentences(tmp_path_factory.mktemp("sentences")))


def test_equal_texts_have_cosine_1_and_all_lie_between_minus_1_and_1_and_do_not_know_an_order(
    sentences: Sentences,
) -> None:
    with torch.inference_mode():
        found, turned = sentences.cosines(TEXTS, TEXTS), sentences.cosines(TEXTS[::-1], TEXTS)
    assert [found[place][place] for place in range(len(TEXTS))] == [1.0] * len(TEXTS)
    assert all(-1 <= one <= 1 for row in found for one in row)
    assert found == [list(column) for column in zip(*found, strict=True)] and turned[::-1] == found
    assert min(one for row in found for one in row) < 0.9, "they are not all alike"


def test_a_text_is_the_unit_mean_of_its_tokens_whatever_it_is_batched_with(sentences: Sentences) -> None:
    with torch.inference_mode():
        batched = sentences.embed_texts(TEXTS)
        for text, vector in zip(TEXTS, batched, strict=True):
            ids = sentences.tokenizer(text, return_tensors="pt")["input_ids"][:, :48]
            mean = sentences.model(input_ids=ids).last_hidden_state.double().mean(1)[0]
            assert torch.allclose(vector, mean / mean.norm(), atol=1e-6)


def test_nothing_beside_nothing_is_no_row(sentences: Sentences) -> None:
    assert sentences.cosines([], TEXTS) == [] and sentences.cosines(["a", "b"], []) == [[], []]


def test_another_model_has_another_digest(sentences: Sentences, tmp_path: Path) -> None:
    assert Sentences(tiny_sentences(tmp_path / "same")).digest == sentences.digest
    assert Sentences(tiny_sentences(tmp_path / "other", seed=1)).digest != sentences.digest


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True}, "pooled by pooling_mode_cls_token"),
        ("modules.json", [{"type": "sentence_transformers.models.Dense"}], "a layer Dense"),
        ("modules.json", {"type": 1}, "modules.json cannot be read"),
        ("config.json", {"auto_map": {"AutoModel": "evil.Model"}}, "contains custom code"),
        ("config.json", {"model_type": "no_such"}, "transformers cannot load it"),
        ("model.safetensors", "no weights", "transformers cannot load it"),
    ],
)
def test_a_folder_that_cannot_be_used_is_refused_in_a_sentence(
    tmp_path: Path, name: str, content: object, why: str
) -> None:
    (tiny_sentences(tmp_path) / name).write_text(json.dumps(content), "utf-8")
    with pytest.raises(UnreadableData, match=why):
        Sentences(tmp_path)


def test_weights_that_are_not_all_there_are_not_made_up(tmp_path: Path) -> None:
    weights = tiny_sentences(tmp_path) / "model.safetensors"
    remaining = {name: value for name, value in load_file(weights).items() if "attention" not in name}
    save_file(remaining, weights, metadata={"format": "pt"})
    with pytest.raises(UnreadableData, match=r"attention.* are missing"):
        Sentences(tmp_path)


def test_pickled_weights_are_not_opened(tmp_path: Path) -> None:
    (tiny_sentences(tmp_path) / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(UnreadableData, match="a format that can run code"):
        Sentences(tmp_path)
