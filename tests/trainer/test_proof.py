"""The experiments behind the page: every arm is trained and measured, finished ones are not run again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_servers.catalogue import TOOLS
from tests.prove.known import NAMES, known_graph
from training_worker import proof
from training_worker.prove.graph import part
from training_worker.prove.reward import PAPER, PRESETS
from training_worker.warm import SERVERS, UNSEEN_SERVERS, UNSEEN_TOOLS

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
    assert [one["arm"] for one in arms()] == ["before", "grpo", "branch", "rejection", "supervised"]
    for one in arms():
        assert set(one["outcomes"]) == {f"{name} {mode}" for name in proof.SETS for mode in proof.MODES}
        assert all(len(each) == 2 for each in one["outcomes"]["held_out sampled"])
        assert (one["steps"] > 0) == (one["arm"] != "before")
    table = pages[proof.PAGE]
    assert table.startswith(pages[proof.README])
    assert table.count("| GRPO | 5 |") == len(proof.SETS) and table.count("| supervised training | ") > len(proof.SETS)
    for name in proof.SETS:
        shown = [
            {tool for example in proof_examples(tmp_path / "data", part) for tool in example["candidates"]}
            for part in ("train", name)
        ]
        assert not shown[0] & set(UNSEEN_TOOLS)
        assert (name == "unseen_tools") == bool(shown[1] & set(UNSEEN_TOOLS))
    finished, _ = arms(), capsys.readouterr()
    assert proof.main(words) == 0 and arms() == finished
    assert " of " not in capsys.readouterr().out
    assert proof.main([*words, "--minutes", "0.02", "--arms", "supervised"]) == 0
    [*_, longer] = arms()
    assert longer["arm"] == "supervised" and len(arms()) == 6, "of another time, and measured from the same start"
    assert longer["seconds"] < 60, "it began anew"
    with pytest.raises(SystemExit):
        proof.main([*words, "--arms", "none"])
    assert "there are grpo, branch, rejection, supervised" in capsys.readouterr().err


def proof_examples(data: Path, name: str) -> list[Any]:
    lines = (data / f"conversations-{proof.FINAL_SEED}" / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]
