"""The tokens of a trajectory, by the tokenizer of a policy."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import pytest

from prove_web.accounts.models import Project, User
from prove_web.trajectories.demonstration import build_demonstration_rollout
from prove_web.trajectories.token_pages import NotSpelled, reason, serialize_prompt, tokenize_trajectory

from .examples import chain, dataset_of
from .test_datasets import SignIn, at

with_torch = pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="the trainer's packages are not here")


@pytest.mark.long
@with_torch
def test_a_demonstration_is_spelled_in_tokens_that_say_who_speaks(
    project: Project, victor: User, as_user: SignIn
) -> None:
    example = chain()
    dataset = dataset_of(project, [example])
    page = as_user(victor).get(at("trajectory-tokens", project, dataset.number, example.id))
    assert page.status_code == 200
    found = page.context["spelled"]
    everything, mine = ("".join(text for text, said in found.tokens if said or every) for every in (True, False))
    assert example.turns[0] in everything and example.turns[0] not in mine
    assert all(call.name in mine for step in example.steps for call in step.calls)
    assert 0 < found.spoken_count < len(found.tokens)


@with_torch
def test_a_folder_without_a_tokenizer_is_refused_in_a_sentence(tmp_path) -> None:
    with pytest.raises(NotSpelled, match=r"lacks tokenizer\.json"):
        tokenize_trajectory(str(tmp_path), serialize_prompt(chain(), build_demonstration_rollout(chain())))


def test_what_a_tool_that_is_gone_looked_like_is_not_known() -> None:
    gone = replace(chain(), candidates=("fly_to_the_moon",))
    with pytest.raises(NotSpelled, match="fly_to_the_moon"):
        serialize_prompt(gone, build_demonstration_rollout(gone))


def test_a_reason_names_no_module() -> None:
    assert reason("Traceback\nModuleNotFoundError: No module named 'torch'").startswith("The trainer packages")
    assert reason("") == "The tokenizer failed without a message."
