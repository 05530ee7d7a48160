"""Runs of other families than the shipped policy's: what their models say is read in their own format."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")

import torch
from tokenizers import AddedToken
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from tests.trainer.families import HEADS, SMALL, family_tokenizer
from training_worker.core.trajectory import Rollout, read_lines
from training_worker.jobs.job_context import EventLog
from training_worker.jobs.machine import machine_of
from training_worker.jobs.run import work
from training_worker.jobs.spool import SpoolReader, SpoolWriter, spool_path
from training_worker.policy.model_families import family_of
from training_worker.training.stop_signal import Stop

CALL = '{"name": "list_accounts", "parameters": {}}'


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    """Return a folder of models with a Llama that answers any prompt with one call, in the format of its family."""
    tokenizer = copy.deepcopy(family_tokenizer("llama3.2"))
    tokenizer.add_tokens([AddedToken(CALL, special=False, normalized=False)])
    caller(tokenizer).save_pretrained(tmp_path / "models" / "caller")
    tokenizer.save_pretrained(tmp_path / "models" / "caller")
    return tmp_path / "models"


def caller(tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """What it says next depends on the latest token alone: after the turn's opening the call, after that its end."""
    opens = tokenizer.encode("<|end_header_id|>\n\n", add_special_tokens=False)[-1]
    call, end = tokenizer.convert_tokens_to_ids(CALL), family_of(tokenizer).end
    model = LlamaForCausalLM(
        LlamaConfig(**SMALL, **HEADS, vocab_size=len(tokenizer), tie_word_embeddings=False, eos_token_id=end)
    )
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        read, say = model.model.embed_tokens.weight.zero_(), model.lm_head.weight.zero_()
        read[:, 2] = 1
        for token, following, place in ((opens, call, 0), (call, end, 1)):
            read[token] = torch.nn.functional.one_hot(torch.tensor(place), read.shape[1])
            say[following, place] = 50
    return model


@pytest.mark.long
def test_a_llama_is_trained_watched_and_compared_by_the_calls_of_its_format(
    llama: Path, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROVE_MODELS", str(llama))
    folder = tmp_path / "jobs" / "00000000-0000-4000-8000-00000000000b"
    (folder / "out").mkdir(parents=True)
    (tmp_path / "jobs" / made.name).symlink_to(made)
    spec = {"policy": "caller", "dataset": made.name, "prompts": 1, "group": 2, "max_steps": 1, "held_out": 2}
    spec |= {"evaluate_every": 1, "threads": 1, "longest_prompt": 20_000, "limits": {"turn": 4, "completion": 300}}
    result = work(spec, folder, EventLog(SpoolWriter(spool_path(folder, 1)), Stop(), 1))
    assert (result["steps"], result["sampled"]["examples"]) == (1, 2)
    for mode in ("before-sampled", "after-greedy"):
        rollouts = list(read_lines(Rollout, folder / "out" / "evaluations" / mode / "rollouts.jsonl"))
        assert rollouts and all(one.calls and one.calls[0].call.name == "list_accounts" for one in rollouts)
    events = SpoolReader(spool_path(folder, 1)).read()
    [step] = [event["data"] for event in events if event["kind"] == "step"]
    assert step["calls"] >= 1, "training reads them as evaluation does"
    assert [event["data"]["step"] for event in events if event["kind"] == "held_out"] == [0, 1]


def test_the_machine_is_named_by_what_a_job_computes_on(made: Path, tmp_path: Path) -> None:
    (driver := tmp_path / "driver").touch()
    order = json.loads((made / "spec.json").read_text())
    assert machine_of(order, made, [driver]) == "cpu", "data are made without a GPU"
    run = {"kind": "run", "spec": {"policy": "warm", "dataset": made.name}}
    assert machine_of(run, made.parent / "run", [driver]) == "cpu", "the shipped policy is faster there"
    assert machine_of({"kind": "run", "spec": {"policy": "nowhere"}}, made.parent / "run", [driver]) == "cpu"
    assert machine_of({}, made, [driver]) == "cpu"
