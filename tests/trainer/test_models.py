"""Models of others: only from the roots, only safetensors, nothing executed; one that is too large is refused first."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from training_worker.config.grpo import GRPORun, TokenLimits
from training_worker.core.trajectory import Example, Rollout, write_lines
from training_worker.policy import policy_folder as policy
from training_worker.policy.models import SHIPPED, find_model, read_json
from training_worker.policy.policy_folder import UnreadablePolicy, load_policy
from training_worker.training import footprint as memory_of
from training_worker.training.device import SettingsError, check_settings, device_of
from training_worker.training.footprint import TooLarge, footprint, require_memory, shapes
from training_worker.training.grpo import train

from .double import Bank

Folder = Callable[[str], Path]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setenv("PROVE_MODELS", f"{tmp_path / 'none'}:{folder}")
    return folder


@pytest.fixture
def small(root: Path, family_folder: Folder) -> Path:
    """A Qwen2.5 under the root."""
    return Path(shutil.copytree(family_folder("qwen2.5"), root / "small"))


class Noisy(Bank):
    """Even babble earns something different each time."""

    def finish(self) -> Rollout:
        rollout = super().finish()
        assert rollout.reward
        said = sum(len(message.content) for message in rollout.transcript)
        return replace(rollout, reward=replace(rollout.reward, total=said % 7 / 7))


@pytest.mark.parametrize("family", ["qwen2.5", "granite4", "llama3.1"])
def test_any_model_of_a_supported_family_can_be_trained(
    family: str, root: Path, family_folder: Folder, examples: list[Example], tmp_path: Path
) -> None:
    shutil.copytree(family_folder(family), root / "team" / family)
    write_lines(tmp_path / "train.jsonl", examples)
    run = GRPORun(
        policy=find_model(f"team/{family}"),
        data=tmp_path / "train.jsonl",
        out=tmp_path / "run",
        prompts=1,
        group=2,
        limits=TokenLimits(turn=12, completion=24),
        longest_prompt=4096,
        mask_truncated=False,
        credit="rollout",  # of an untrained model, which writes words alone
        max_steps=1,
        threads=1,
    )
    done = train(run, lambda event: None, attempt=Noisy)
    before, after = load_policy(run.policy), load_policy(done.policy)
    assert before.card == {} and after.card["steps"] == 1 and type(after.model) is type(before.model)
    moved = [not torch.equal(a, b) for a, b in zip(before.model.parameters(), after.model.parameters(), strict=True)]
    assert all(moved)


def test_a_model_is_found_by_its_name_and_others_are_listed(small: Path) -> None:
    assert find_model("warm") == SHIPPED and find_model("small") == small
    for name in ("other", "", ".", "..", "../models/small", "/etc", str(small)):
        with pytest.raises(UnreadablePolicy, match=r"There is no policy .*Available: warm, small\. Put it into"):
            find_model(name)


def test_a_folder_outside_the_roots_is_no_policy(small: Path, tmp_path: Path) -> None:
    moved = small.rename(tmp_path / "elsewhere")
    with pytest.raises(UnreadablePolicy, match=r"card\.json missing"):
        load_policy(moved)


@pytest.mark.parametrize("carded", [False, True])
def test_a_link_out_of_the_roots_is_not_followed(small: Path, tmp_path: Path, carded: bool) -> None:
    if carded:
        (small / "card.json").write_text("{}")
    secret = (small / "model.safetensors").rename(tmp_path / "secret.safetensors")
    (small / "model.safetensors").symlink_to(secret)
    with pytest.raises(UnreadablePolicy, match="leads out of"):
        load_policy(small)
    small.parent.joinpath("linked").symlink_to(tmp_path)
    with pytest.raises(UnreadablePolicy, match="There is no policy 'linked'"):
        find_model("linked")


def test_a_link_within_the_roots_is_followed(small: Path) -> None:
    blob = (small / "model.safetensors").rename(small.parent / "blob")
    (small / "model.safetensors").symlink_to(blob)
    assert load_policy(small).card == {}


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_weights_in_shards_are_read_by_their_index(small: Path) -> None:
    unsharded = load_policy(small)
    weights = load_file(small / "model.safetensors")
    names = sorted(weights)
    parts = {"one.safetensors": names[::2], "two.safetensors": names[1::2]}
    for file, some in parts.items():
        save_file({name: weights[name] for name in some}, small / file, metadata={"format": "pt"})
    (small / "model.safetensors").unlink()
    index = small / "model.safetensors.index.json"
    index.write_text(
        json.dumps({"metadata": {}, "weight_map": {n: file for file, some in parts.items() for n in some}})
    )
    for mine, theirs in zip(load_policy(small).model.parameters(), unsharded.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    (small / "two.safetensors").unlink()
    with pytest.raises(UnreadablePolicy, match=r"two\.safetensors missing"):
        load_policy(small)
    change(index, weight_map={"a": "../one.safetensors"})
    with pytest.raises(UnreadablePolicy, match="does not name safetensors beside it"):
        load_policy(small)


def test_what_could_run_code_is_refused(small: Path) -> None:
    change(small / "config.json", auto_map={"AutoModel": "evil.Model"})
    with pytest.raises(UnreadablePolicy, match=r"contains custom code \(auto_map in config\.json\)"):
        load_policy(small)
    (small / "model.safetensors").rename(small / "pytorch_model.bin")
    with pytest.raises(UnreadablePolicy, match=r"pytorch_model\.bin, a format that can run code.*convert it"):
        load_policy(small)
    (small / "pytorch_model.bin").rename(small / "adapter_model.safetensors")
    with pytest.raises(UnreadablePolicy, match="a LoRA adapter without its model"):
        load_policy(small)
    (small / "adapter_model.safetensors").unlink()
    with pytest.raises(UnreadablePolicy, match="holds no weights"):
        load_policy(small)


def test_a_model_that_is_not_for_chats_with_tools_is_refused(small: Path) -> None:
    template = small / "chat_template.jinja"
    template.write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
    with pytest.raises(UnreadablePolicy, match="does not show tools"):
        load_policy(small)
    template.write_text("{{ raise_exception('no tools') }}")
    with pytest.raises(UnreadablePolicy, match=r"fails on a tool \(no tools\)"):
        load_policy(small)
    template.unlink()
    with pytest.raises(UnreadablePolicy, match="has no chat template"):
        load_policy(small)


@pytest.mark.parametrize(
    ("hostile", "says"),
    [
        ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "more than 0.2 seconds"),
        ("{{ ''.__class__.__mro__ }}", "is unsafe"),
        ("{% include '/etc/passwd' %}", "no loader"),
    ],
)
def test_a_template_that_has_no_end_or_reaches_beyond_what_it_is_given_is_refused(
    small: Path, monkeypatch: pytest.MonkeyPatch, hostile: str, says: str
) -> None:
    monkeypatch.setattr(policy, "LONGEST_RENDERING", 0.2)
    (small / "chat_template.jinja").write_text(hostile)
    with pytest.raises(UnreadablePolicy, match=f"its chat template fails on a tool .*{says}"):
        load_policy(small)


def test_an_architecture_that_is_not_supported_is_named(small: Path) -> None:
    change(small / "config.json", architectures=["Qwen2ForSequenceClassification"])
    with pytest.raises(UnreadablePolicy, match=r"holds \['Qwen2ForSequence.*supported here are Qwen3ForCausalLM"):
        load_policy(small)


RUN = GRPORun(policy=SHIPPED, data=Path("train.jsonl"), out=Path("out"))


def test_memory_is_counted_by_what_holds_it() -> None:
    weights, model = shapes(SHIPPED), read_json(SHIPPED / "config.json")
    count = sum(p.numel() for p in load_policy(SHIPPED).model.parameters())
    full = footprint(replace(RUN, beta=0.01), weights, model)
    assert (full.weights, full.gradients, full.optimizer, full.reference) == (
        4 * count,
        4 * count,
        8 * count,
        4 * count,
    )
    rows, layers, kv, dim = 64, 4, 2, 64
    assert full.cache == rows * (1024 + 1024) * layers * 2 * kv * dim * 4
    lora = footprint(replace(RUN, lora_rank=8, beta=0.01, precision="bf16"), weights, model)
    assert lora.reference == 0 and lora.cache == full.cache / 2 and lora.gradients < full.gradients / 4
    norm = footprint(replace(RUN, trainable="final_norm"), weights, model)
    gains = load_policy(SHIPPED).model.base_model.norm.weight.numel()
    assert (norm.weights, norm.gradients, norm.optimizer) == (full.weights, 4 * gains, 8 * gains)
    spread = footprint(replace(RUN, processes=4, sharding="fsdp", backend="vllm"), weights, model)
    assert spread.weights == full.weights / 4 and spread.optimizer == full.optimizer / 4


def test_on_a_gpu_the_cache_gets_half_of_what_the_training_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_of, "memory", lambda device: 10e9)
    long = replace(RUN, limits=TokenLimits(completion=100_000))
    rows = {device: memory_of.rows_at_once(long, device) for device in ("cpu", "cuda")}
    a_row = (1024 + 100_000) * 4 * 2 * 2 * 64 * 4
    assert rows == {"cpu": int(10e9 / 4 / a_row), "cuda": int((10e9 - training_state_bytes()) / 2 / a_row)}


def training_state_bytes() -> float:
    """Bytes of weights, gradients and moments of the shipped policy."""
    return 16.0 * sum(p.numel() for p in load_policy(SHIPPED).model.parameters())


def test_a_run_that_cannot_fit_is_refused_with_the_figure(tmp_path: Path) -> None:
    giant = replace(RUN, limits=TokenLimits(completion=10**10))
    with pytest.raises(
        TooLarge, match=r"needs at least [\d.,]+ GB \(.*cache [\d.]+\).* GB are free on this machine\. T"
    ):
        require_memory(giant, "cpu")
    assert require_memory(RUN, "cpu").total < 1e9


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"sharding": "fsdp", "processes": 2}, "fsdp needs the backend vllm"),
        ({"sharding": "zero3", "processes": 2}, "zero3 needs the backend vllm"),
        ({"sharding": "zero2"}, "zero2 needs the package deepspeed"),
        ({"backend": "vllm"}, "needs the package vllm"),
        ({"prompts": 3, "processes": 2}, "Make prompts a multiple of processes"),
        ({"micro_batch": 7}, "micro_batch must divide the 64 rollouts"),
        ({"normalise": "components", "scale_rewards": "group"}, "set scale_rewards to none"),
        ({"trainable": "final_norm", "lora_rank": 8}, "set trainable to all, or lora_rank to 0"),
    ],
)
def test_settings_that_cannot_go_together_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        check_settings(replace(RUN, **settings))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_not_used() -> None:
    with pytest.raises(SettingsError, match="no GPU that torch can use"):
        device_of(replace(RUN, device="cuda"))
    assert device_of(RUN) == "cpu"
