"""What needs a GPU is tried in small on a CPU, end to end; the page is written by a GPU alone."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from rich.console import Console

from mcp_servers.catalogue import SERVERS
from tests.prove.known import share_graph
from training_worker.config.presets import PAPER
from training_worker.core.benchmark_page import PAGE
from training_worker.core.trajectory import Example, read_lines
from training_worker.experiments.gpu import __main__ as command
from training_worker.experiments.gpu.__main__ import main, options_of, run
from training_worker.experiments.gpu.options import SMALL, Options, Size
from training_worker.experiments.gpu.real_model_experiment import RealModelExperiment
from training_worker.experiments.gpu.server_difficulty import chained_tools, find_hardest_servers
from training_worker.experiments.gpu.step import MEASURES
from training_worker.policy.models import SHIPPED, model_under
from training_worker.policy.policy_folder import load_policy, load_tokenizer
from training_worker.policy.random_model import GroundTruth, ModelShape, build_random_model
from training_worker.training import device

SHAPE = ModelShape(layers=2, width=64, heads=4, kv_heads=2, head_dim=16, ffn=128, vocabulary=5_000)


def trial(data: Path, **other: int) -> tuple[str, str]:
    """The tables, and what was said; `other` are sizes."""
    share_graph(data)
    page = data / "page.md"
    page.write_text("before\n<!-- gpu: begin -->\n<!-- gpu: end -->\nafter\n", "utf-8")
    size = replace(SMALL, completion=128, longest_prompt=900, **other)
    output = io.StringIO()
    options = Options(data, SHIPPED, "cpu", size, servers=("banking",), threads=1, page=page, small=True)
    return run(options, Console(file=output, width=200)), output.getvalue()


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("gpu")
    (data / "said").write_text("\n".join(trial(data)), "utf-8")
    return data


def test_every_stage_runs_in_small_and_is_cached_and_no_page_is_written(tried: Path) -> None:
    earlier = (tried / "said").read_text("utf-8")
    table, said = trial(tried)
    assert table in earlier and "trial run on cpu" in earlier
    assert (tried / "page.md").read_text() == "before\n<!-- gpu: begin -->\n<!-- gpu: end -->\nafter\n"
    assert "Not written to page.md: this was a trial run on cpu." in said
    assert table.count("| 2 |") == 2 and "| SFT |" in table and "| then GRPO |" in table and "nan" not in table
    found = json.loads((tried / "results.json").read_text())
    assert found["step"]["environment_s"] > 0 and found["step"]["tokens"] > 0
    assert found["learned"]["grpo"]["sampled"]["examples"] == SMALL.held_out
    trained = tried / "grpo" / "policy"
    assert not (trained / "config.json").exists() and model_under(trained) == SHIPPED, "an adapter on that of SFT"
    before, after = (load_policy(tried / stage / "policy").model for stage in ("sft", "grpo"))
    assert before.config == after.config
    assert said.count("(cached)") >= 7, "asked again, nothing is done again"


def test_without_steps_of_grpo_the_page_has_none_and_finished_stages_stay_cached(tried: Path) -> None:
    table, said = trial(tried, grpo_steps=0)
    assert "| SFT | 2 |" in table and "GRPO" not in table and "billion random weights" in table
    assert said.count("(cached)") == 6, "SFT and its measurements do not depend on how long GRPO is"


def test_a_gpu_writes_the_page_also_with_fewer_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, gain = tmp_path / "page.md", {"difference": 0.1, "low": 0.0, "high": 0.2, "before": 0.3, "after": 0.4}
    page.write_text("<!-- gpu: begin -->\n<!-- gpu: end -->\n", "utf-8")
    step = dict.fromkeys((*MEASURES, "parameters", "steps"), 1.0) | {"batch": "4 x 16"}
    learned = {"servers": {"banking": 12}, "sft": {"steps": 7, "seconds": 60.0, "sampled": gain, "greedy": gain}}
    monkeypatch.setattr(command, "measure_step", lambda *given: step)
    monkeypatch.setattr(RealModelExperiment, "run", lambda self: learned)
    monkeypatch.setattr(RealModelExperiment, "data_set", lambda self: None)
    monkeypatch.setattr(device, "require_device", lambda device: None)
    monkeypatch.setattr(device, "name_of", lambda device: "GPU of a test")
    options = replace(options_of(["--steps", "0", "--sft-steps", "7", "--data", str(tmp_path)]), page=page)
    run(options, Console(file=io.StringIO()))
    assert "On one GPU of a test" in page.read_text("utf-8") and "| SFT | 7 | 1.0 |" in page.read_text("utf-8")


def test_attention_that_plans_for_each_length_is_off_after_a_training_began(tried: Path) -> None:
    assert not torch.backends.cuda.cudnn_sdp_enabled()


def test_updates_are_computed_in_bf16_on_a_gpu() -> None:
    assert (options_of([]).precision, options_of(["--device", "cpu"]).precision) == ("bf16", "fp32")


def test_the_hardest_servers_are_those_on_which_most_tools_need_a_call_before() -> None:
    chosen = find_hardest_servers()
    rest = max(chained_tools(name) for name in SERVERS if name not in chosen)
    assert len(chosen) == 3 and all(chained_tools(name) >= rest for name in chosen)


def test_a_shaped_models_turns_are_as_long_as_requested_and_its_worlds_do_the_ground_truth(tried: Path) -> None:
    tokenizer = load_tokenizer(SHIPPED).tokenizer
    model = build_random_model(tokenizer, SHAPE, turn=40, seed=0).float()
    with torch.no_grad():
        chances = model(torch.tensor([[5, 17, 99]])).logits.softmax(-1)[..., tokenizer.eos_token_id]
    assert torch.allclose(chances, torch.tensor(1 / 40), rtol=0.1)
    examples = read_lines(Example, tried / "data" / "train.jsonl")
    example = next(one for one in examples if len(one.steps) > 1)
    attempt = GroundTruth(example)
    while attempt.answer("whatever"):
        pass
    reward = attempt.finish().reward
    assert reward and reward.coverage == reward.validity == 1


def test_qwen3_4b_is_what_its_shape_says() -> None:
    with torch.device("meta"):
        model = build_random_model(load_tokenizer(SHIPPED).tokenizer, ModelShape(), 40, 0)
    assert sum(weight.numel() for weight in model.parameters()) == pytest.approx(4.02e9, rel=0.01)


def test_the_full_size_has_the_papers_batch_and_the_small_one_is_an_option() -> None:
    full, small = options_of([]), options_of(["--small", "--steps", "3", "--device", "cpu"])
    assert (full.size, full.device, full.page) == (Size(), "cuda", PAGE)
    assert (full.size.prompts, full.size.group) == (PAPER["prompts"], PAPER["group"])
    assert (small.size.grpo_steps, small.size.sft_steps, small.small) == (3, 2, True)
    short = options_of(["--steps", "0", "--minutes", "5", "--shape-steps", "3"])
    assert not short.small and short.size == replace(Size(), grpo_steps=0, grpo_minutes=5.0, shape_steps=3)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_or_a_model_it_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path), "--model", str(SHIPPED)]) == 1
    assert "no GPU that torch can use" in capsys.readouterr().out
    assert main(["--data", str(tmp_path), "--model", str(tmp_path / "none")]) == 1
    assert "fetch_model SmolLM2-135M-Instruct" in capsys.readouterr().out
