"""TRL's own GRPOTrainer as a run of the site: its metrics by our names, and the rollouts of each step."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from prove_web.experiments.models import Run
from prove_web.experiments.rollout_storage import StoredRun
from prove_web.live.models import State
from tests.waiting import eventually
from training_worker.client.trl_capture import Watch
from training_worker.store.folder import read_one

from .test_outside_client import Connect
from .test_outside_client import connect as connect
from .test_outside_client import site as site

WORDS = ["<pad>", "<eos>", "how", "warm", "is", "it", "cold", "who", "knows"]


def short(prompts: Any, completions: Sequence[str], **rest: Any) -> list[float]:
    return [1.0 / (1 + len(text)) for text in completions]


def knows(prompts: Any, completions: Sequence[str], **rest: Any) -> list[float | None]:
    return [float(text.count("knows")) if text else None for text in completions]


@pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.*:FutureWarning")  # TRL asks transformers by an old name
def test_grpo_of_trl_logs_its_metrics_and_its_rollouts(
    connect: Connect, site: str, settings: LazySettings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings.PROVE_DATA = tmp_path / "site"
    with caplog.at_level(logging.WARNING, "training_worker.client"):
        trained(connect(site), tmp_path / "out")
        eventually(lambda: Run.objects.filter(job__state=State.DONE).exists(), "the end of the run")
    assert [one.message for one in caplog.records if one.name.startswith("training_worker.client")] == []
    run = Run.objects.get()
    assert [*run.points.values_list("step", flat=True)] == [1, 2]
    ours = {"reward", "reward_deviation", "zero_variance", "completion_tokens", "truncated", "clipped", "step_s"}
    same = {"loss", "grad_norm", "learning_rate", "entropy"}
    theirs = {"rewards/short/mean", "rewards/knows/mean", "completions/min_length"}
    measured = {*run.points.get(step=1).metrics}
    assert (
        ours | same | theirs <= measured and theirs <= {*run.own["points"]} and not (ours | same) & {*run.own["points"]}
    )
    assert {"reward", "rewards/short/mean"} <= {*run.held_out.get(step=2).metrics}
    assert [*run.groups.values_list("step", "number", "size")] == [(1, 1, 2), (1, 2, 2), (2, 1, 2), (2, 2, 2)]
    reward = run.points.get(step=1).metrics["reward"]
    means = [row.mean for row in run.groups.filter(step=1)]
    assert sum(means) / 2 == pytest.approx(reward, abs=1e-5)
    one = read_one(StoredRun(run), 1, 1)
    assert (
        one is not None and one.reward is not None and [each.role for each in one.transcript] == ["user", "assistant"]
    )
    assert one.reward.terms["short"] == pytest.approx(short(None, [one.transcript[1].content])[0])


def trained(project: Any, folder: Path) -> None:
    """Train a tiny model that babbles for two steps of two groups of two, with an evaluation."""
    torch, trl = pytest.importorskip("torch"), pytest.importorskip("trl")
    from datasets import Dataset
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    from training_worker.client.callback import ProveCallback

    torch.manual_seed(1)
    words = Tokenizer(WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="<pad>"))
    words.pre_tokenizer = Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<eos>")
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    config = LlamaConfig(vocab_size=len(WORDS), num_attention_heads=1, num_key_value_heads=1, **sizes)
    callback = ProveCallback(project, "By TRL")
    arguments = trl.GRPOConfig(
        output_dir=str(folder),
        max_steps=2,
        per_device_train_batch_size=4,
        per_device_eval_batch_size=2,
        num_generations=2,
        max_completion_length=6,
        logging_steps=1,
        eval_strategy="steps",
        eval_steps=2,
        reward_weights=[1.0, 0.5],
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        bf16=False,
        activation_checkpointing=False,
        disable_tqdm=True,
    )
    rows = Dataset.from_list([{"prompt": "how warm is it"}, {"prompt": "who knows"}])
    trl.GRPOTrainer(
        LlamaForCausalLM(config),
        callback.wrap_reward_funcs([short, knows]),
        arguments,
        train_dataset=rows,
        eval_dataset=rows,
        processing_class=tokenizer,
        callbacks=[callback],
    ).train()


def test_watched_functions_return_the_same_rewards_and_record_calls_of_conversations() -> None:
    watch = Watch()

    async def waits(prompts: Any, completions: Any, **rest: Any) -> list[float]:
        return [0.0]

    first, named, late = watch.wrap_functions([short, "a/reward-model", waits])
    assert named == "a/reward-model" and late is waits and first.__name__ == "short"
    called = {"role": "assistant", "tool_calls": [{"function": {"name": "look", "arguments": {"at": 1}}}]}
    prompt = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    assert first(prompts=[prompt, prompt, "b"], completions=[[called], "x", "y"]) == [0.5, 0.5, 0.5]
    groups = watch.take({"short": 2.0})
    assert [len(each["rollouts"]) for each in groups] == [2, 1] and groups[0]["prompt"] == [
        {"role": "user", "content": "Hi"}
    ]
    call = {"tool": "look", "arguments": {"at": 1}}
    completion = [{"role": "assistant", "content": "", "calls": [call]}]
    assert groups[0]["rollouts"][0] == {"completion": completion, "reward": 1.0, "parts": {"short": 0.5}}
    assert watch.take({}) == []


def test_nothing_is_logged_where_it_is_not_known_whose_a_reward_is() -> None:
    watch = Watch()
    first, second = watch.wrap_functions([short, lambda prompts, completions, **rest: [1.0][: len(prompts) - 1]])
    for function in (first, second):
        function(prompts=["a", "b"], completions=["x", "y"])
    assert watch.take({}) == []
