"""The cosine similarity of the gradients of batches, and the noise scale that follows from it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.prove.known import known_examples
from training_worker.core.models import SHIPPED
from training_worker.core.trajectory import dumps
from training_worker.policy.policy_folder import load_policy
from training_worker.training.gradient_noise import batch_gradients, noise_scale, similarity, table


@given(st.integers(0, 99), st.lists(st.floats(0.1, 10), min_size=5, max_size=5))
def test_similarity_is_the_mean_cosine_whatever_the_lengths(seed: int, lengths: list[float]) -> None:
    rows = torch.randn(5, 40, generator=torch.Generator().manual_seed(seed), dtype=torch.double)
    mean, error = similarity(rows)
    pairs = [torch.cosine_similarity(rows[i], rows[j], dim=0) for i in range(5) for j in range(i)]
    assert mean == pytest.approx(float(torch.stack(pairs).mean())) and 0 < error < 1
    assert similarity(rows * torch.tensor(lengths)[:, None]) == pytest.approx((mean, error))


def test_the_noise_scale_of_gradients_whose_noise_is_known() -> None:
    """Gradients of a batch of 50: a signal of length 1 and noise of variance 400 a rollout in all."""
    draw = torch.Generator().manual_seed(0)
    rows = torch.randn(40, 1_000, generator=draw) * (400 / 50 / 1_000) ** 0.5
    rows[:, 0] += 1
    assert float(noise_scale(*similarity(rows), 50).replace(",", "")) == pytest.approx(400, rel=0.15)
    assert similarity(torch.ones(4, 9)) == pytest.approx((1, 0))
    assert noise_scale(0.01, 0.02, 64) == "more than 1,216"
    assert noise_scale(-0.1, 0.02, 64) == "not found"


def test_batches_of_the_warm_policy_have_gradients_of_each_kind() -> None:
    policy, examples = load_policy(SHIPPED), sorted(known_examples(30), key=lambda one: len(dumps(one)))[:4]
    found = list(batch_gradients(policy, examples, 3, seed=1, prompts=2, group=2))
    weights = policy.model.num_parameters()
    assert all(one[name].shape == (weights,) for one in found for name in ("rollout", "branch", "supervised"))
    assert all(one["supervised"].any() for one in found)
    again = next(batch_gradients(policy, examples, 1, seed=1, prompts=2, group=2))
    assert torch.allclose(again["rollout"], found[0]["rollout"], atol=1e-6)
    lines = list(table(policy, found))
    assert len(lines) == 5 and lines[1].startswith("| GRPO, 64 rollouts |")
