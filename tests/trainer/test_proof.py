"""The experiments behind the page: every arm is trained and measured, finished ones are not run again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from mcp_servers.catalogue import TOOLS
from tests.prove.known import NAMES, known_graph
from training_worker.config.presets import FINAL_NORM
from training_worker.core.models import ROOTS
from training_worker.core.warm import SERVERS, UNSEEN_SERVERS, UNSEEN_TOOLS
from training_worker.experiments import proof
from training_worker.graph.dependency_graph import part
from training_worker.reward import PAPER, PRESETS

SUCCESSES = {"before": [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]], "after": [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]}


def test_the_ablations_of_the_paper_differ_from_its_reward_in_one_number_each() -> None:
    assert len(proof.REWARDS) == 7
    for name in proof.REWARDS[:6]:
        changed = [field for field in vars(PAPER) if getattr(PRESETS[name], field) != getattr(PAPER, field)]
        assert len(changed) == 1, name


def test_a_difference_is_of_the_conversations_means_over_all_seeds() -> None:
    before, after = ({"outcomes": {"held_out sampled": SUCCESSES[side]}} for side in ("before", "after"))
    change = proof.compare([before], [after, before], "held_out sampled", [0, 2])
    assert (change.before, change.after, change.examples) == (0.25, 0.5, 2)
    success, difference = proof.format_cells(change)
    assert success == "25.0 → 50.0" and difference.startswith("+25.0 (")


def test_one_tool_of_each_known_server_is_unseen_and_unseen_servers_are_others() -> None:
    assert [TOOLS[name][0].name for name in UNSEEN_TOOLS] == list(SERVERS)
    assert not set(SERVERS) & set(UNSEEN_SERVERS)
    graph = known_graph()
    assert set(graph) - set(part(graph, NAMES, UNSEEN_TOOLS)) == set(graph) & set(UNSEEN_TOOLS) != set()


@pytest.mark.long
def test_arms_are_trained_measured_and_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = dict[Path, str]()
    monkeypatch.setattr(proof, "SETS", dict.fromkeys(proof.SETS, 12))
    monkeypatch.setattr(proof, "write_block", lambda name, content, page=proof.PAGE: pages.update({page: content}))
    words = ["proof", "--data", str(tmp_path / "data"), "--results", str(tmp_path / "results"), "--seeds", "5"]
    words += ["--minutes", "0.01", "--examples", "40", "--threads", "1"]

    def arms() -> list[Any]:
        return [json.loads(line) for line in (tmp_path / "results" / "proof.jsonl").read_text("utf-8").splitlines()]

    assert proof.main(words) == 0
    names = [arm.name for arm in proof.PROOF]
    assert [one["arm"] for one in arms()] == [*names, proof.BEFORE]
    for one in arms():
        assert set(one["outcomes"]) == outcomes(proof.EXPERIMENTS["proof"])
        assert all(len(each) == 2 for each in one["outcomes"]["held_out sampled"])
        assert (one["steps"] > 0) == (one["arm"] != "before")
    table = pages[proof.PAGE]
    assert table.startswith(pages[proof.README])
    assert table.count("| GRPO | 5 |") == len(proof.SETS) and table.count("| supervised training | ") > len(proof.SETS)
    for name in proof.SETS:
        offered = [
            {tool for example in proof_examples(tmp_path / "data", part) for tool in example["candidates"]}
            for part in ("train", name)
        ]
        assert not offered[0] & set(UNSEEN_TOOLS)
        assert (name == "unseen_tools") == bool(offered[1] & set(UNSEEN_TOOLS))
    finished, _ = arms(), capsys.readouterr()
    assert proof.main(words) == 0 and arms() == finished
    assert " of " not in capsys.readouterr().out
    assert proof.main([*words, "--minutes", "0.02", "--arms", "supervised"]) == 0
    [*_, longer] = arms()
    assert longer["arm"] == "supervised" and len(arms()) == len(names) + 2, (
        "of another time, and measured from the same start"
    )
    assert longer["seconds"] < 60, "it began anew"
    with pytest.raises(SystemExit):
        proof.main([*words, "--arms", "none"])
    assert f"there are {', '.join(names)}" in capsys.readouterr().err


@pytest.mark.long
def test_a_pretrained_model_gets_an_adapter_that_other_arms_start_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, family_folder: Callable[[str], Path]
) -> None:
    pages = dict[Path, str]()
    plan = proof.EXPERIMENTS["pretrained"]
    arms = tuple(replace(arm, settings={**arm.settings, "minutes": 0.01}) for arm in plan.arms)
    longest = {"longest": 8_000, "longest_brief": 4_000, "longest_measured": 8_000}
    plan = replace(plan, arms=arms, chains=2, limits=(16, 64), **longest)
    monkeypatch.setitem(proof.EXPERIMENTS, "pretrained", plan)
    monkeypatch.setattr(proof, "SETS", dict.fromkeys(proof.SETS, 12))
    monkeypatch.setattr(proof, "write_block", lambda name, content, page=proof.PAGE: pages.update({page: content}))
    model, results = tmp_path / "models" / "small", tmp_path / "results"
    shutil.copytree(family_folder("qwen3-llama"), model)
    monkeypatch.setenv(ROOTS, str(model.parent))
    words = ["pretrained", "--data", str(tmp_path / "data"), "--results", str(results), "--policy", str(model)]
    words += ["--examples", "40", "--threads", "1"]
    assert proof.main([*words, "--policy", str(tmp_path / "none")]) == 1

    assert proof.main(words) == 0
    finished = [json.loads(line) for line in (results / "pretrained.jsonl").read_text("utf-8").splitlines()]
    assert [one["arm"] for one in finished] == ["start", "grpo", "supervised", "before"]
    assert all(one["steps"] > 0 for one in finished[:3])
    assert set(finished[0]["outcomes"]) == outcomes(plan)
    start = results / "pretrained-start-0"
    weights = load_file(start / "adapter_model.safetensors")
    assert {weight.dtype for weight in weights.values()} == {torch.bfloat16} and any(map(torch.any, weights.values()))
    for name in ("grpo", "supervised"):
        config = json.loads((results / f"pretrained-{name}-0" / "adapter_config.json").read_text("utf-8"))
        assert config["base_model_name_or_path"] == str(start)
    shutil.rmtree(tmp_path / "data")
    assert proof.main(words) == 0, "what is finished needs no folder of its training"
    assert list(pages) == [proof.PAGE] and "GRPO after it" in pages[proof.PAGE]
    lines = (results / "pretrained.jsonl").read_text("utf-8").splitlines()
    (results / "pretrained.jsonl").write_text("\n".join(lines[:2]) + "\n", "utf-8")
    assert proof.main([*words, "--tables"]) == 0, "of what is finished, without the policy before"
    rows = [line for line in pages[proof.PAGE].splitlines() if line.startswith("| supervised phase (90 minutes) | 1 |")]
    assert len(rows) == 1 and "→" not in rows[0] and "reward 0." in rows[0]
    (results / "pretrained.jsonl").write_text("", "utf-8")
    pages.clear()
    assert proof.main([*words, "--tables"]) == 1 and not pages, "nothing is finished"


def outcomes(plan: proof.Plan) -> set[str]:
    return {f"{name} {mode}{score}" for name in plan.sets for mode in plan.modes for score in ("", " reward")}


def proof_examples(data: Path, name: str) -> list[Any]:
    lines = (data / f"conversations-{proof.FINAL_SEED}" / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_the_recipe_of_the_final_norm_has_the_settings_of_its_arm() -> None:
    [arm] = [one for one in proof.PROOF if one.name == "final_norm"]
    assert arm.settings.items() <= FINAL_NORM.items()
