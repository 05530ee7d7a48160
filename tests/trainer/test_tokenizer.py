"""The tokenizer: nothing is lost, values are the same tokens everywhere, prompts are short."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from training_worker.policy.conversation import encode
from training_worker.policy.tokenizer import train_tokenizer

from .double import NAMES

SMALL = train_tokenizer(['<|im_start|>user\n{"name": "Maria", "id": "ACC-1234"}<|im_end|>\n'] * 3, NAMES, 400)


@given(st.text())
def test_decoding_what_was_encoded_gives_the_text_back(text: str) -> None:
    assert SMALL.decode(encode(SMALL, text)) == text


@pytest.mark.parametrize("name", [word for name in NAMES for word in name.split()])
def test_a_name_is_one_token_in_either_case(tokenizer: PreTrainedTokenizerFast, name: str) -> None:
    assert len(encode(tokenizer, name)) == len(encode(tokenizer, name.lower())) == 1


@pytest.mark.parametrize("place", ["{}", "for {}.", '{{"id": "{}"}}', "{}\n", '", "{}", "', "({})"])
@pytest.mark.parametrize("value", ["ACC-1234", "Maria Lopez", "2026-03-14", "1250"])
def test_a_value_is_the_same_tokens_wherever_it_stands(
    tokenizer: PreTrainedTokenizerFast, place: str, value: str
) -> None:
    inside, alone = encode(tokenizer, place.format(value)), encode(tokenizer, value)
    assert any(inside[i : i + len(alone)] == alone for i in range(len(inside)))


def test_a_moment_is_its_year_month_day_and_time() -> None:
    tokenizer = train_tokenizer(["On 23 May 2027 at 16:29: 2027-05-23T16:29:00Z"] * 9, NAMES, 600)
    pieces = [tokenizer.decode([id]) for id in encode(tokenizer, "2027-05-23T16:29:00Z")]
    assert pieces == ["2027", "-05-", "23", "T", "16", ":", "29", ":00Z"]
    assert encode(tokenizer, "23 May 2027")[-1] == encode(tokenizer, "2027-05-23")[0]


def test_a_key_of_a_result_is_one_token_with_its_json() -> None:
    row = '[{"id":"ACC-1234","subject":"spring offer","unread":true},{"id":"ACC-1235","subject":"x","unread":false}]'
    tokenizer = train_tokenizer([row] * 9, NAMES, 500)
    pieces = [tokenizer.decode([id]) for id in encode(tokenizer, row)]
    assert pieces[0] == '[{"id":"' and '","subject":"' in pieces and '","unread":' in pieces and '},{"id":"' in pieces


def test_an_id_is_its_prefix_and_two_pairs_of_digits(tokenizer: PreTrainedTokenizerFast) -> None:
    assert [tokenizer.decode([id]) for id in encode(tokenizer, "ACC-1034")] == ["ACC-", "10", "34"]


def test_what_every_schema_repeats_is_one_token(tokenizer: PreTrainedTokenizerFast) -> None:
    for glue in ('{"type": "function", "function": {"name": "', '": {"type": "string", "description": "'):
        assert len(encode(tokenizer, glue)) == 1


def test_the_same_texts_give_the_same_tokenizer() -> None:
    texts = ['{"b": "Zoe"} and {"a": "ACC-12"}', "plain words, plain words"] * 4
    first, second = (train_tokenizer(texts, NAMES, 400) for _ in range(2))
    assert first.get_vocab() == second.get_vocab()
