"""Backends that work in tokens: their log-probabilities are the model's, and what runs beside a row changes nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from training_worker.config.grpo import TokenLimits
from training_worker.policy.decoder import Decoder
from training_worker.policy.model_families import family_of
from training_worker.rollout.backends import GenerationRequest, Name, NoBackend, backend_for, slot_cache
from training_worker.rollout.backends.decoder import DecoderBackend
from training_worker.rollout.backends.ngram_draft import Lookup
from training_worker.rollout.backends.row_rng import Uniforms, pick
from training_worker.rollout.backends.slot_cache import OneToken, Slots
from training_worker.rollout.backends.transformers import TransformersBackend
from training_worker.rollout.generate import Sample, sample
from training_worker.training.grpo_trainer import add_adapter
from training_worker.training.shared_prefix_logprobs import group_logprobs

from .double import Bank, example
from .families import EVERY, family_model, family_tokenizer

LIMITS = TokenLimits(turn=24, completion=200)
SHAPES: list[dict[str, Any]] = [{"rows": 9}, {"rows": 2}, {"guesses": 4}]


@cache
def sharp(name: str) -> Any:
    """A model of a family with an output layer of its own, sure enough of what it says to show a mistake."""
    torch.set_num_threads(1)
    model = family_model(name)
    width, scaling = model.config.hidden_size, getattr(model.config, "logits_scaling", 1.0)
    model.lm_head.weight = torch.nn.Parameter(torch.randn(model.lm_head.weight.shape) * 2.5 * scaling / width**0.5)
    return model


def often(tokenizer: PreTrainedTokenizerFast) -> frozenset[int]:
    """The end tokens of a family, and a sixth of its vocabulary: an untrained model would hardly ever end a turn."""
    return family_of(tokenizer).stop | frozenset(range(0, len(tokenizer), 6))


def rollouts(name: str, temperature: float = 1.0, **shape: Any) -> tuple[list[Sample], TransformersBackend]:
    model, tokenizer = sharp(name), family_tokenizer(name)
    backend = TransformersBackend(model, often(tokenizer), temperature, torch.Generator().manual_seed(1), **shape)
    examples = [example(seed) for seed in (1, 2, 3)]
    return sample(model, tokenizer, examples, 3, limits=LIMITS, attempt=Bank, backend=backend), backend


def plain(model: Any, one: Sample) -> torch.Tensor:
    """The log-probabilities of a completion by one forward over all of it."""
    ids, start = torch.tensor([one.prompt_ids + one.completion_ids]), len(one.prompt_ids)
    with torch.no_grad():
        spread = torch.log_softmax(model(input_ids=ids).logits[0].float(), -1)[start - 1 : -1]
    return spread.gather(1, ids[0, start:, None])[:, 0]


@pytest.mark.parametrize("name", EVERY)
def test_log_probabilities_are_those_of_one_full_forward(name: str) -> None:
    samples, _ = rollouts(name)
    logprobs = torch.tensor(
        [value for one in samples for value, mine in zip(one.logprobs, one.env_mask, strict=True) if mine]
    )
    assert logprobs.std() > 0.5, "a model that is sure of nothing would show nothing"
    assert max(one.env_mask.count(0) for one in samples) > 0, "several turns"
    for one in samples:
        spoken = torch.tensor(one.env_mask).bool()
        assert torch.allclose(plain(sharp(name), one)[spoken], torch.tensor(one.logprobs)[spoken], atol=1e-4)


@pytest.mark.parametrize(
    ("name", "temperature"),
    [
        ("qwen3", 0.0),
        ("qwen3", 1.0),
        pytest.param("llama3.2", 1.0, marks=pytest.mark.long),
        ("granite4-hybrid", 1.0),
    ],
)
def test_neither_waiting_for_a_place_nor_guessing_changes_a_token(name: str, temperature: float) -> None:
    first, *others = ([one.completion_ids for one in rollouts(name, temperature, **shape)[0]] for shape in SHAPES)
    assert others == [first, first]


class Direct(OneToken):
    """What a GPU replays, computed each time: the slots that are not in use are read as well."""

    def capture(self, slots: Slots) -> None:
        pass

    def replay(self, slots: Slots) -> None:
        slots.aim(self.at, self.places, self.room)
        self.logits = slots.forward(self.ids, self.places, self.room, 0)


@pytest.mark.parametrize("rows", [9, 2])
@pytest.mark.parametrize("name", ["qwen3", "llama3.2"])
def test_reading_a_token_of_every_slot_changes_no_token(name: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, _ = rollouts(name, rows=rows)
    monkeypatch.setattr(slot_cache, "can_capture", lambda device: True)
    monkeypatch.setattr(slot_cache, "OneToken", Direct)
    monkeypatch.setattr(slot_cache, "GROWTH", 64)  # so that the cache grows on the way
    found, _ = rollouts(name, rows=rows)
    assert [one.completion_ids for one in found] == [one.completion_ids for one in expected]


def test_a_model_that_cannot_be_captured_is_read_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[Slots]()

    class Refusing(OneToken):
        def capture(self, slots: Slots) -> None:
            tried.append(slots)
            raise RuntimeError("operation not permitted when stream is capturing")

    expected, _ = rollouts("qwen3")
    monkeypatch.setattr(slot_cache, "can_capture", lambda device: True)
    monkeypatch.setattr(slot_cache, "OneToken", Refusing)
    found, _ = rollouts("qwen3")
    assert [one.completion_ids for one in found] == [one.completion_ids for one in expected]
    assert len(tried) == 1, "it is tried once"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_graph_gives_the_same_rollouts_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = sharp("qwen3").to("cuda"), family_tokenizer("qwen3")
    made = []
    for captures in (True, False):
        monkeypatch.setattr(slot_cache, "can_capture", lambda device, captures=captures: captures)
        backend = TransformersBackend(model, often(tokenizer), 0.0, rows=4)
        made.append(sample(model, tokenizer, [example(1), example(2)], 3, limits=LIMITS, attempt=Bank, backend=backend))
    model.to("cpu")
    assert [one.completion_ids for one in made[0]] == [one.completion_ids for one in made[1]]


def test_generation_is_without_attention_that_plans_for_each_length() -> None:
    model, seen = sharp("qwen3"), list[bool]()
    torch.backends.cuda.enable_cudnn_sdp(True)
    hook = model.register_forward_pre_hook(lambda *given: seen.append(torch.backends.cuda.cudnn_sdp_enabled()))
    rollouts("qwen3")
    hook.remove()
    assert seen and not any(seen) and torch.backends.cuda.cudnn_sdp_enabled()


def test_a_conversation_is_read_once_and_a_groups_prompt_once() -> None:
    samples, backend = rollouts("qwen3")
    prompts = sum(len(one.prompt_ids) - 1 for one in samples[::3])
    assert backend.read == prompts + sum(len(one.completion_ids) for one in samples)  # all but the last token said


def test_what_is_guessed_right_saves_steps() -> None:
    """A greedy model soon repeats itself, and what repeats is guessed."""
    forwards = [0, 0]
    for i, guesses in enumerate((0, 6)):
        model, tokenizer = sharp("qwen3"), family_tokenizer("qwen3")
        backend = TransformersBackend(model, frozenset({1}), 0.0, guesses=guesses)

        def counted(module: Any, inputs: Any, i: int = i) -> None:
            forwards[i] += 1

        hook = model.register_forward_pre_hook(counted)
        sample(model, tokenizer, [example(1)], limits=TokenLimits(150, 150), attempt=Bank, backend=backend)
        hook.remove()
    assert forwards[1] < 0.8 * forwards[0]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_what_the_decoder_is_proposed_saves_reads_and_changes_no_token(
    taught: Qwen3ForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    examples: list[Any],
    temperature: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reads, read = [0], Decoder.read

    def counted(decoder: Decoder, *given: Any) -> torch.Tensor:
        reads[-1] += 1
        return read(decoder, *given)

    monkeypatch.setattr(Decoder, "read", counted)
    made = list[list[Sample]]()
    for guesses in (0, 1, 4):
        reads.append(0)
        generator = torch.Generator().manual_seed(3)
        backend = DecoderBackend(taught, family_of(tokenizer).stop, temperature, generator, guesses)
        made.append(sample(taught, tokenizer, examples[:4], 3, attempt=Bank, backend=backend))
    first, *others = ([one.completion_ids for one in each] for each in made)
    assert others == [first, first]
    for one, other in zip(made[0], made[2], strict=True):
        assert torch.allclose(torch.tensor(one.logprobs), torch.tensor(other.logprobs), atol=1e-4)
    assert reads[3] < reads[1]


def test_decoder_and_transformers_give_the_same_greedy_rollouts(
    taught: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Any]
) -> None:
    names: tuple[Name, ...] = ("decoder", "transformers")
    made = [sample(taught, tokenizer, examples[:6], 2, temperature=0.0, attempt=Bank, backend=name) for name in names]
    assert [one.completion_ids for one in made[0]] == [one.completion_ids for one in made[1]]
    assert any(one.rollout.calls for one in made[0])


def test_a_model_is_left_as_it_was_found() -> None:
    model = sharp("qwen2.5")
    model.train()
    rollouts("qwen2.5")
    assert model.training and all(parameter.requires_grad for parameter in model.parameters())
    model.eval()


@pytest.mark.parametrize("name", ["qwen3", "qwen3-llama"])
def test_our_forward_is_that_of_transformers_with_an_adapter_too(name: str) -> None:
    adapted = add_adapter(copy.deepcopy(sharp(name)), rank=2)
    for key, weight in adapted.named_parameters():
        if "lora_B" in key:
            torch.nn.init.normal_(weight, std=0.1)
    model, tokenizer = adapted.get_base_model(), family_tokenizer(name)
    backend = DecoderBackend(model, often(tokenizer), 1.0, torch.Generator().manual_seed(1))
    samples = sample(model, tokenizer, [example(1), example(2)], 3, limits=LIMITS, attempt=Bank, backend=backend)
    ids = [one.completion_ids for one in samples]
    wanted = pad_sequence([torch.ones(len(one)) for one in ids], batch_first=True)
    with torch.no_grad():
        read = group_logprobs(model, [one.prompt_ids for one in samples], ids, wanted, temperature=1.0)
    for one, found in zip(samples, read, strict=True):
        spoken, expected = torch.tensor(one.env_mask).bool(), plain(adapted, one)
        assert torch.allclose(expected[spoken], torch.tensor(one.logprobs)[spoken], atol=1e-4)
        assert torch.allclose(expected, found[: len(expected)], atol=1e-4)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("qwen3", DecoderBackend),
        ("qwen3-llama", DecoderBackend),
        ("qwen2.5", TransformersBackend),
        ("llama3.2", TransformersBackend),
    ],
)
def test_the_decoder_is_chosen_where_it_can_run_the_model(name: str, kind: type) -> None:
    assert type(backend_for(family_model(name), family_tokenizer(name))) is kind
    assert type(backend_for(family_model(name).to(torch.bfloat16), family_tokenizer(name))) is TransformersBackend


def test_a_backend_that_does_not_fit_says_which_does() -> None:
    with pytest.raises(NoBackend, match=r"it supports Qwen3 and Llama, and this is Qwen2ForCausalLM\. Use the"):
        backend_for(family_model("qwen2.5"), family_tokenizer("qwen2.5"), "decoder")
    with pytest.raises(NoBackend, match="it supports only plain rotary positions"):
        backend_for(family_model("llama3.2"), family_tokenizer("llama3.2"), "decoder")
    with pytest.raises(NoBackend, match="use_vllm"):
        backend_for(family_model("qwen3"), family_tokenizer("qwen3"), "vllm")


@pytest.mark.parametrize("make", [DecoderBackend, TransformersBackend])
def test_a_row_that_is_dropped_while_it_speaks_is_not_heard_of_again(make: Callable[..., Any]) -> None:
    backend = make(sharp("qwen3"), frozenset({10_000}), 1.0, None)
    for row in range(4):
        backend.submit(GenerationRequest(row, [5, 6, 7 + row], (), (), most=3 + row))
    assert [turn.row for turn in backend.step()] == [0]
    backend.drop(0)
    backend.drop(2)
    heard = [turn for _ in range(4) for turn in backend.step() if not backend.drop(turn.row)]
    assert [(turn.row, len(turn.ids), turn.cut) for turn in heard] == [(1, 4, True), (3, 6, True)]
    assert backend.step() == []


def test_where_a_row_is_new_a_guess_is_what_followed_in_the_rows_beside_it() -> None:
    shared = dict[tuple[int, ...], int]()
    one, other = Lookup(shared), Lookup(shared)
    one.add([1, 2, 3, 4, 5, 6])
    other.add([9, 2, 3])
    assert other.draft_tokens(4) == []
    other.add([4])
    assert other.draft_tokens(4) == [5, 6] and other.draft_tokens(1) == [5]
    other.add([7, 2, 3, 4])
    assert other.draft_tokens(4) == [7, 2, 3, 4], "its own comes first"


@given(st.lists(st.integers(0, 3), max_size=40), st.integers(1, 6))
def test_a_guess_is_what_followed_the_newest_three_tokens_last_time(ids: list[int], most: int) -> None:
    lookup = Lookup()
    lookup.add(ids)
    guess = lookup.draft_tokens(most)
    found = [i for i in range(3, len(ids)) if ids[i - 3 : i] == ids[-3:]]
    assert guess == (ids[found[-1] : found[-1] + most] if found else [])


@settings(deadline=None)
@given(st.lists(st.floats(-4, 4), min_size=2, max_size=6), st.floats(0.2, 2.0))
def test_numbers_spread_evenly_give_tokens_their_probabilities(logits: list[float], temperature: float) -> None:
    numbers = (torch.arange(2_000, dtype=torch.float64) + 0.5)[None] / 2_000
    spread = torch.tensor(logits).expand(1, 2_000, -1)
    tokens, logprobs = pick(spread, temperature, numbers)
    expected = torch.softmax(torch.tensor(logits) / temperature, -1)
    shares = torch.bincount(tokens[0], minlength=len(logits)) / 2_000
    assert torch.allclose(shares.float(), expected, atol=2e-3)
    assert torch.allclose(logprobs[0].exp(), expected[tokens[0]], atol=1e-5)


@given(st.integers(0, 2**48), st.integers(0, 600), st.integers(0, 40))
def test_a_rows_numbers_are_the_same_however_they_are_requested(seed: int, start: int, count: int) -> None:
    late, early = Uniforms(seed), Uniforms(seed)
    early.get_numbers(0, 10)
    assert late.get_numbers(start, count) == early.get_numbers(start, count) and all(
        0 <= number < 1 for number in late.numbers
    )
