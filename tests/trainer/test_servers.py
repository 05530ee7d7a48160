"""The trainer on the live servers: real prompts, real tool answers, and the oracle's words earn everything."""

from __future__ import annotations

import pytest
from transformers import PreTrainedTokenizerFast

from tests.prove.known import known_examples
from training_worker.config.grpo import TokenLimits
from training_worker.core.models import SHIPPED
from training_worker.core.trajectory import Example
from training_worker.environment.episode import Attempt, demonstration
from training_worker.policy.conversation import as_dicts, encode
from training_worker.policy.model import tiny_model
from training_worker.policy.policy_folder import load_policy
from training_worker.policy.tokenizer import plain_tokenizer, train_tokenizer
from training_worker.rollout.backends import Name
from training_worker.rollout.backends.scripted_policy import ScriptedBackend
from training_worker.rollout.generate import sample
from training_worker.training.curriculum import encode_full_demonstration, names, text, values
from training_worker.training.rationale import rationales

from .conftest import SMALL

ROOM = TokenLimits(turn=1_024, completion=8_192)  # for a tokenizer of 1,000 tokens


@pytest.fixture(scope="module")
def real() -> tuple[Example, ...]:
    return known_examples(12)


@pytest.fixture(scope="module")
def fitted(real: tuple[Example, ...]) -> PreTrainedTokenizerFast:
    return train_tokenizer([text(plain_tokenizer(), example) for example in real], names(values(real)), 1_000)


def test_a_demonstration_is_what_the_template_renders(
    real: tuple[Example, ...], fitted: PreTrainedTokenizerFast
) -> None:
    for example in real:
        attempt = Attempt(example)
        messages = as_dicts([*attempt.opening, *demonstration(example, rationales=rationales(example))])
        rendered = str(fitted.apply_chat_template(messages, tools=list(attempt.tools), tokenize=False))
        assert [*encode_full_demonstration(fitted, example).ids, *encode(fitted, "\n")] == encode(fitted, rendered)
        assert fitted.decode(encode(fitted, rendered)) == rendered


def test_the_oracles_words_earn_everything(real: tuple[Example, ...], fitted: PreTrainedTokenizerFast) -> None:
    model = tiny_model(fitted, seed=1, shape=SMALL).eval()
    for example in real:
        said = demonstration(example, rationales=rationales(example))
        script = iter([message.content for message in said if message.role == "assistant"])
        backend = ScriptedBackend(lambda messages, tools, script=script: next(script), fitted)
        [made] = sample(model, fitted, [example], backend=backend, limits=ROOM)
        assert made.prompt_ids + made.completion_ids == list(encode_full_demonstration(fitted, example).ids)
        assert made.rollout.reward is not None
        assert made.rollout.reward.total == pytest.approx(1.0 if example.abstains else 1.3)


@pytest.mark.long
def test_on_live_servers_the_warm_policy_says_the_same_through_decoder_and_transformers(
    real: tuple[Example, ...],
) -> None:
    warm = load_policy(SHIPPED)
    names: tuple[Name, ...] = ("decoder", "transformers")
    made = [sample(warm.model, warm.tokenizer, real[:5], 2, temperature=0.0, backend=name) for name in names]
    assert [one.completion_ids for one in made[0]] == [one.completion_ids for one in made[1]]
    assert sum(one.rollout.reward.total for one in made[0] if one.rollout.reward) > 5
