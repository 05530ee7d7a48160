"""Credit at the branches of a group: each choice is compared with the others of its state."""

import itertools
from collections.abc import Callable, Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from training_worker.training.token_advantages import ANSWER, Choices, branch_advantages, choices_of

GROUPS = st.lists(
    st.tuples(st.lists(st.integers(0, 2), min_size=3, max_size=3), st.floats(-1, 1, allow_nan=False)),
    min_size=2,
    max_size=8,
)


def credit(completions: list[list[int]], rewards: torch.Tensor, size: int) -> torch.Tensor:
    """The advantages of rollouts whose every token is a choice of its own."""
    return branch_advantages([Choices(one, range(len(one)), len(one)) for one in completions], rewards, size)


def of(completions: list[list[int]], rewards: list[float]) -> torch.Tensor:
    return credit(completions, torch.tensor(rewards), len(completions))


def has_call(ids: Sequence[int]) -> bool:
    return ids[0] == 1


def test_an_answer_is_one_choice_at_its_first_token_and_the_rest_is_as_it_stands() -> None:
    found = choices_of([1, 5, 8, 7, 7, 8, 1, 6], [1, 1, 0, 1, 1, 0, 1, 1], has_call)
    assert found == Choices((1, 5, 8, ANSWER, 8, 1, 6), (0, 1, 2, 3, 5, 6, 7), 8)
    assert choices_of([], [], has_call) == Choices((), (), 0)


def test_rollouts_that_worded_an_answer_differently_are_compared_at_the_calls_behind_it() -> None:
    """Both answer in words of their own and in another length, the user goes on, and one calls what it should."""
    one, other = [1, 5, 8, 2, 2, 8, 1, 6], [1, 5, 8, 3, 8, 1, 7]
    spoken = [1, 1, 0, 1, 1, 0, 1, 1], [1, 1, 0, 1, 0, 1, 1]
    choices = [choices_of(ids, mask, has_call) for ids, mask in zip((one, other), spoken, strict=True)]
    assert branch_advantages(choices, torch.tensor([1.0, 0.0]), 2).tolist() == [
        [0, 0, 0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 0, -1, 0],
    ]


@given(GROUPS, st.lists(st.integers(2, 9), min_size=1, max_size=4))
def test_the_words_of_an_answer_change_no_credit(group: list[tuple[list[int], float]], words: list[int]) -> None:
    rewards = torch.tensor([reward for _, reward in group])

    def credited(wording: Callable[[int], list[int]]) -> list[list[float]]:
        made = []
        for number, (calls, _) in enumerate(group):
            said = wording(number)
            ids = [*said, 0, *(token for call in calls for token in (1, call, 0))]
            spoken = [*[1] * len(said), 0, *[1, 1, 0] * len(calls)]
            made.append((choices_of(ids, spoken, has_call), len(said)))
        table = branch_advantages([one for one, _ in made], rewards, len(group))
        return [row[length : one.length].tolist() for row, (one, length) in zip(table, made, strict=True)]

    assert credited(lambda number: words[: 1 + number % len(words)]) == credited(lambda number: [2])


def test_only_the_token_at_which_two_rollouts_part_is_credited() -> None:
    found = of([[5, 1, 7, 8], [5, 2, 7, 8]], [1.0, 0.0])
    assert found.tolist() == [[0, 1, 0, 0], [0, -1, 0, 0]]


def test_each_choice_is_compared_with_what_was_to_be_expected_there() -> None:
    found = of([[1, 1], [1, 2], [2, 1], [2, 1]], [1.0, 0.0, 0.0, 0.0])
    assert torch.allclose(found, torch.tensor([[1 / 3, 1], [1 / 3, -1], [-1 / 3, 0], [-1 / 3, 0]]))


@given(GROUPS, st.floats(-5, 5))
def test_what_all_rewards_share_does_not_matter(group: list[tuple[list[int], float]], offset: float) -> None:
    completions, rewards = [one for one, _ in group], [reward for _, reward in group]
    shifted = of(completions, [reward + offset for reward in rewards])
    assert torch.allclose(of(completions, rewards), shifted, atol=1e-4)


@given(GROUPS)
def test_the_credit_given_at_a_choice_sums_to_nothing(group: list[tuple[list[int], float]]) -> None:
    completions, rewards = [one for one, _ in group], [reward for _, reward in group]
    found = of(completions, rewards)
    for time in range(3):
        for prefix in {tuple(one[:time]) for one in completions}:
            here = [i for i, one in enumerate(completions) if tuple(one[:time]) == prefix]
            assert found[here, time].sum() == pytest.approx(0, abs=1e-5)


def test_neighbours_are_a_group_even_where_the_next_one_has_the_same_prompt() -> None:
    found = credit([[5], [6], [5], [6]], torch.tensor([1.0, 0.0, 0.0, 2.0]), 2)
    assert found.tolist() == [[1], [-1], [-2], [2]]


def test_a_void_group_is_no_part_of_what_the_next_one_of_its_example_is_compared_with() -> None:
    void, taught = [[5], [6]], [[5], [6]]
    alone = credit(taught, torch.tensor([0.5, -0.5]), 2)
    beside = credit([*void, *taught], torch.tensor([0.0, 0.0, 0.5, -0.5]), 2)
    assert torch.equal(beside[2:], alone) and not beside[:2].any()


def test_rollouts_of_different_lengths_and_equal_ones_are_fine() -> None:
    assert of([[1, 2], [1, 2, 3], [1, 2]], [1.0, 0.0, 1.0]).count_nonzero() == 0
    assert of([[1], [1]], [0.5, 0.5]).count_nonzero() == 0


def test_the_expected_gradient_of_a_choice_that_all_come_to_is_the_policy_gradient() -> None:
    """Over all groups of three rollouts of two tokens, weighed by their probability."""
    first, second = torch.tensor([0.3, -0.2], requires_grad=True), torch.tensor([[0.5, 0.1], [-0.4, 0.2]])
    second.requires_grad_()
    rollouts = list(itertools.product(range(2), repeat=2))
    reward = {(0, 0): 1.0, (0, 1): 0.2, (1, 0): 0.0, (1, 1): 0.7}

    def logprobs(rollout: tuple[int, int]) -> torch.Tensor:
        return torch.stack([first.log_softmax(0)[rollout[0]], second.log_softmax(1)[rollout]])

    said = {rollout: logprobs(rollout) for rollout in rollouts}
    surrogate = torch.tensor(0.0)
    for group in itertools.product(rollouts, repeat=3):
        weight = torch.stack([said[one].sum() for one in group]).sum().exp().detach()
        given = of([list(one) for one in group], [reward[one] for one in group])
        surrogate = surrogate + weight * (torch.stack([said[one] for one in group]) * given).sum() / 3
    [found] = torch.autograd.grad(surrogate, first, retain_graph=True)
    expected_reward = sum(said[one].sum().exp() * reward[one] for one in rollouts)
    [wanted] = torch.autograd.grad(expected_reward, first)
    assert torch.allclose(found, wanted, atol=1e-5)
