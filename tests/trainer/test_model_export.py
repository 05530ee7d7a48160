"""An exported policy in the hands of transformers: it loads, says the same, and its card says what it is."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from django.conf import LazySettings
from huggingface_hub import ModelCard
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast, Qwen3ForCausalLM

from prove_web.accounts.models import Project
from prove_web.experiments.checkpoints import checkpoints
from prove_web.experiments.exports import Export, is_adapter, make
from prove_web.live.models import Job
from training_worker.config.grpo import GRPORun, TokenLimits
from training_worker.core.trajectory import Example, file_digest, write_lines
from training_worker.policy.policy_folder import load_policy, save_policy
from training_worker.training.export import NotExported, export, main
from training_worker.training.grpo import train

from .double import Bank


@pytest.fixture(scope="module")
def run(
    tmp_path_factory: pytest.TempPathFactory,
    taught: Qwen3ForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    examples: list[Example],
) -> GRPORun:
    """A run of one step that trained an adapter, with rollouts of an evaluation."""
    folder = tmp_path_factory.mktemp("run")
    save_policy(folder / "warm", taught, tokenizer, {"made_by": "test"})
    write_lines(folder / "train.jsonl", examples)
    limits = TokenLimits(turn=40, completion=160)
    paths = {"policy": folder / "warm", "data": folder / "train.jsonl", "out": folder / "run"}
    run = GRPORun(**paths, prompts=2, group=4, limits=limits, max_steps=1, threads=1, lora_rank=4, learning_rate=0.01)
    train(run, lambda event: None, attempt=Bank)
    for side, scale in (("before", 0.5), ("after", 1.0)):
        rollouts = []
        for seed, one in enumerate(examples[:6]):
            played = Bank(one).finish()
            assert played.reward
            rollouts.append(replace(played, reward=replace(played.reward, total=scale * (1 + seed / 10))))
        (run.out / "evaluations" / f"{side}-greedy").mkdir(parents=True)
        write_lines(run.out / "evaluations" / f"{side}-greedy" / "rollouts.jsonl", rollouts)
    return run


def logits(folder: Path, text: str) -> torch.Tensor:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        found: torch.Tensor = model(**tokenizer(text, return_tensors="pt")).logits
    return found


def test_a_merged_export_says_what_the_policy_says_and_needs_nothing_else(run: GRPORun, tmp_path: Path) -> None:
    out = export(run.out, tmp_path / "merged", merge=True, licence="apache-2.0")
    policy = load_policy(run.out / "policy")
    ids = policy.tokenizer("Which account has Omar Diaz?", return_tensors="pt")
    with torch.no_grad():
        wanted = policy.model(**ids).logits
    assert torch.allclose(logits(out, "Which account has Omar Diaz?"), wanted, atol=1e-3)
    assert AutoTokenizer.from_pretrained(out).chat_template == policy.tokenizer.chat_template
    assert not list(out.glob("adapter*")) and (out / "generation_config.json").exists()
    card = ModelCard.load(out / "README.md")
    assert card.data.license == "apache-2.0"
    [result] = card.data.eval_results
    assert result.metric_name == "reward, greedy" and result.metric_value == pytest.approx(1.25)
    for said in (
        file_digest(run.data),
        "| lora_rank | `4` |",
        "merged into the weights",
        "1.250 | +0.625 (",
        "## Limits",
    ):
        assert said in card.text


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")  # peft asks by transformers' old name
def test_an_adapter_is_exported_alone_and_finds_its_model(run: GRPORun, tmp_path: Path) -> None:
    out = export(run.out, tmp_path / "adapter")
    assert (out / "adapter_model.safetensors").exists() and not (out / "model.safetensors").exists()
    merged = export(run.out, tmp_path / "merged", merge=True)
    assert torch.allclose(
        logits(out, "And what is its balance?"), logits(merged, "And what is its balance?"), atol=1e-3
    )


def test_a_checkpoint_is_exported_without_measurements(run: GRPORun, tmp_path: Path) -> None:
    [checkpoint] = (run.out / "checkpoints").glob("checkpoint-*")
    text = ModelCard.load(export(checkpoint, tmp_path / "one", merge=True) / "README.md").text
    assert "It was not measured." in text and "1 steps in" in text and "None was named" in text


def test_nothing_is_written_over_and_nothing_half_is_left(
    run: GRPORun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NotExported, match="already exists"):
        export(run.out, tmp_path)
    assert main([str(tmp_path / "nowhere"), str(tmp_path / "out")]) == 1
    assert "is not a run with a trained policy" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_the_site_exports_a_checkpoint_by_a_child(run: GRPORun, tmp_path: Path, settings: LazySettings) -> None:
    settings.PROVE_DATA = tmp_path
    job = Job(project=Project())
    shutil.copytree(run.out, job.out)
    [checkpoint] = checkpoints(job)
    requested = Export(job, checkpoint.step, merged=True)
    requested.folder.parent.mkdir(parents=True)
    requested.working.touch()
    make(requested)
    assert is_adapter(checkpoint) and requested.ready and not requested.at_work and not requested.why
    assert load_policy(requested.folder, needs_card=False).model is not None
