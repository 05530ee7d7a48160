"""Supervised training: it learns, its order is a matter of the seed, and a run that was cut goes on."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from tests.prove.known import known_examples
from training_worker.core.trajectory import Example, Step, ToolCall
from training_worker.environment.episode import oracle
from training_worker.policy.conversation import EncodedConversation
from training_worker.policy.model import tiny_model
from training_worker.training.curriculum import lookups, shorten_answers, tables, warmup_stages
from training_worker.training.packed_sft import (
    Order,
    Progress,
    SFTRun,
    Stage,
    fit_model,
    loss_weights,
    stage_at,
    update,
)
from training_worker.training.stop_signal import Stop

from .conftest import SMALL
from .double import Bank

RUN = SFTRun(steps=6, threads=1, warmup_steps=2, report_every=1)


@pytest.fixture(scope="module")
def stages(tokenizer: PreTrainedTokenizerFast, examples: list[Example]) -> list[Stage]:
    return [replace(stage, batch=4) for stage in warmup_stages(tokenizer, examples, 600, 0, Bank)]


def trained(tokenizer: PreTrainedTokenizerFast, stages: list[Stage], run: SFTRun, **more: Any) -> torch.Tensor:
    model = tiny_model(tokenizer, seed=2, shape=SMALL)
    fit_model(model, stages, run, more.pop("on_event", lambda event: None), **more)
    return flat(model)


def flat(model: Qwen3ForCausalLM) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_training_lowers_the_loss(tokenizer: PreTrainedTokenizerFast, stages: list[Stage]) -> None:
    losses: list[float] = []
    trained(tokenizer, stages[-1:], replace(RUN, steps=20), on_event=lambda event: losses.append(event["model_nll"]))
    assert losses[-1] < 0.8 * losses[0]


def test_a_budget_in_steps_is_reproducible(tokenizer: PreTrainedTokenizerFast, stages: list[Stage]) -> None:
    assert torch.equal(trained(tokenizer, stages, RUN), trained(tokenizer, stages, RUN))


def test_a_run_that_was_cut_goes_on_as_if_it_had_not_been(
    tokenizer: PreTrainedTokenizerFast, stages: list[Stage], tmp_path: Path
) -> None:
    run, stop = replace(RUN, state=tmp_path / "state.pt"), Stop()
    trained(tokenizer, stages, run, stop=stop, on_event=lambda event: stop.request() if event["step"] == 3 else None)
    assert torch.equal(trained(tokenizer, stages, run), trained(tokenizer, stages, RUN))


def test_a_run_goes_on_with_another_number_of_threads(
    tokenizer: PreTrainedTokenizerFast, stages: list[Stage], tmp_path: Path
) -> None:
    run = replace(RUN, state=tmp_path / "state.pt", steps=3)
    trained(tokenizer, stages, run)
    assert torch.isfinite(trained(tokenizer, stages, replace(run, steps=5, threads=2))).all()


@pytest.mark.parametrize(("share", "name"), [(0, "a"), (0.19, "a"), (0.21, "b"), (0.69, "b"), (0.71, "c"), (1, "c")])
def test_stages_follow_their_shares(share: float, name: str) -> None:
    stages = [Stage(name, [], 1, weight) for name, weight in (("a", 2), ("b", 5), ("c", 3))]
    assert stage_at(stages, share).name == name


def test_an_epoch_shows_every_conversation_once_and_the_next_in_another_order(stages: list[Stage]) -> None:
    stage = replace(stages[-1], batch=5)
    order, epoch = Order(stage, 0, 0), len(stage.data) // 5
    first, second = ([one for k in range(epoch) for one in order.batch(k + start)] for start in (0, epoch))
    assert first != second
    assert sorted(map(str, first)) == sorted(map(str, second)) == sorted(map(str, stage.data))


def test_a_stage_smaller_than_a_batch_is_named(stages: list[Stage]) -> None:
    with pytest.raises(ValueError, match="'full' has 40 examples, fewer than one batch"):
        Order(replace(stages[-1], batch=41), 0, 0)


def test_loss_weights_are_one_where_the_model_speaks_and_zero_on_what_follows_nothing() -> None:
    assert loss_weights(EncodedConversation((5, 6, 7, 8), (0, 0, 0.25, 1)), 0.1).tolist() == pytest.approx(
        [0, 0.1, 0.25, 1]
    )


def test_over_the_strides_each_token_of_a_prompt_has_its_weight_once() -> None:
    one = EncodedConversation(tuple(range(9)), (0,) * 7 + (0.25, 1))
    strides = torch.stack([loss_weights(one, 0.1, 3, step) for step in range(3)])
    assert strides.mean(0).tolist() == pytest.approx([0, *[0.1] * 6, 0.25, 1])
    assert ((strides[:, 1:7] > 0).sum(0) == 1).all()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_packed_step_by_threads_is_the_step_of_each_conversation_read_alone(
    tokenizer: PreTrainedTokenizerFast, stages: list[Stage], threads: int
) -> None:
    batch = stages[-1].data[:3]
    packed, alone = (tiny_model(tokenizer, seed=2, shape=SMALL) for _ in range(2))
    weights = [loss_weights(one, 0.1, stride=3, step=1) for one in batch]
    with ThreadPoolExecutor(threads) as pool:
        found = update(packed, [torch.optim.SGD(packed.parameters(), 0.1)], batch, weights, pool, threads)
    nll, weights = list[torch.Tensor](), [some[1:] for some in weights]
    for one in batch:
        logits = alone(input_ids=torch.tensor([one.ids])).logits[0, :-1]
        nll.append(cross_entropy(logits, torch.tensor(one.ids[1:]), reduction="none"))
    loss = (torch.cat(nll) * torch.cat(weights)).sum() / torch.cat(weights).sum()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(alone.parameters(), 1.0)
    torch.optim.SGD(alone.parameters(), 0.1).step()
    assert found.loss == pytest.approx(loss.item(), rel=1e-5)
    assert found.tokens == sum(len(one.ids) for one in batch)
    assert torch.allclose(flat(packed), flat(alone), atol=1e-6)


def test_a_lookup_follows_each_name_with_the_id_of_the_thing_that_has_it(tokenizer: PreTrainedTokenizerFast) -> None:
    names = {name: f"ACC-{n}{n}" for n, name in enumerate(("Ana", "Ben", "Cem", "Ida"))}
    result = json.dumps([{"id": id, "name": name, "kind": "card"} for name, id in names.items()])
    for drill in lookups(tokenizer, [result], 20, 0):
        pairs = re.findall(r'"(\w+)" \(([^)]*)\)', tokenizer.decode(drill.ids))
        assert 2 <= len({*pairs}) <= len(names) and {*pairs} <= {*names.items()}
        learnt = tokenizer.decode([id for id, mine in zip(drill.ids, drill.mask, strict=True) if mine])
        assert learnt == "".join(id for _, id in pairs) + "<|im_end|>"


def test_tables_are_lists_of_three_and_more_things_with_names_and_ids() -> None:
    texts = (
        '[{"id":"A-1","t":"y","n":2},{"id":"B-2","t":"x"},{"id":"C-3","t":"z"}]',
        '[{"id":"A-1","t":"y"},{"id":"B-2","t":"x"},{"id":"C-3"}]',
        '[{"id":"A-1","t":"y"}]',
        '["a","b","c"]',
        "no JSON",
        "7",
    )
    step = Step((ToolCall("list_things", {}),) * len(texts), observations=texts)
    assert tables([replace(known_examples(1)[0], steps=(step,))]) == [texts[0]]


def test_progress_is_the_larger_of_steps_and_minutes() -> None:
    assert Progress(step=5, seconds=30).share(SFTRun(steps=10, minutes=10)) == 0.5
    assert Progress(step=5, seconds=480).share(SFTRun(steps=10, minutes=10)) == 0.8


def test_short_answers_are_the_right_act_and_leave_the_calls_alone() -> None:
    examples = [one for one in known_examples(60) if one.acts]
    assert {act for one in examples for act in one.acts} >= {"call", "ask", "decline"}
    for one in examples:
        short = shorten_answers(one)
        assert replace(short, answers=one.answers) == one
        assert all(len(new) <= max(len(old), 24) for new, old in zip(short.answers, one.answers, strict=True))
        rollout, before = oracle(short), oracle(one)
        assert rollout.acts == before.acts and rollout.reward == before.reward
