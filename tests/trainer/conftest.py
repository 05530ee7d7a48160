"""A tokenizer and tiny models for the trainer's tests: small enough that every test takes seconds."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_model, save_model
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from tests.sharing import shared_folder
from training_worker.core.trajectory import Example
from training_worker.environment.episode import demonstration
from training_worker.policy.conversation import encode_demonstration
from training_worker.policy.model import Shape, tiny_model
from training_worker.policy.tokenizer import plain_tokenizer, train_tokenizer
from training_worker.training.curriculum import text
from training_worker.training.packed_sft import SFTRun, Stage, fit_model

from .double import NAMES, Bank, example
from .families import family_folder as family_folder

SMALL = Shape(layers=2, width=64, heads=2, kv_heads=1, head_dim=16, ffn=128, positions=2048)


@pytest.fixture(scope="session")
def examples() -> list[Example]:
    return [example(seed) for seed in range(40)]


@pytest.fixture(scope="session")
def tokenizer(examples: list[Example]) -> PreTrainedTokenizerFast:
    return train_tokenizer([text(plain_tokenizer(), one, Bank) for one in examples], NAMES, vocabulary=600)


@pytest.fixture
def model(tokenizer: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    """Untrained: it babbles, which is what most of these tests need."""
    torch.set_num_threads(1)
    return tiny_model(tokenizer, seed=1, shape=SMALL).eval()


@pytest.fixture(scope="session")
def taught(
    tokenizer: PreTrainedTokenizerFast, examples: list[Example], tmp_path_factory: pytest.TempPathFactory
) -> Qwen3ForCausalLM:
    """Taught for a few seconds, so that it calls tools: it has rollouts of several turns, and groups with variance.

    Once for all processes of the test run.
    """
    model = tiny_model(tokenizer, seed=1, shape=SMALL)
    with shared_folder("taught") as folder:
        if (weights := folder / "model.safetensors").exists():
            load_model(model, weights)
        else:
            teach(model, tokenizer, examples)
            save_model(model, str(weights))
    return model.eval()


def teach(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]) -> None:
    demonstrations = [
        encode_demonstration(tokenizer, attempt.opening, demonstration(one), attempt.tools)
        for one, attempt in ((one, Bank(one)) for one in examples)
    ]
    fit_model(
        model, [Stage("full", demonstrations, 8)], SFTRun(steps=100, threads=1, warmup_steps=5), lambda event: None
    )
