"""The warm-up of a policy: it goes on with the same data, and begins again with other data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.prove.known import known_examples
from training_worker.core.trajectory import dumps
from training_worker.experiments.warmup import main


def test_a_warm_up_goes_on_with_its_data_and_begins_again_with_other_data(tmp_path: Path) -> None:
    lines, data, out = [dumps(one) for one in known_examples(30)], tmp_path / "train.jsonl", tmp_path / "policy"

    def warm_up(count: int, steps: int) -> int:
        data.write_text("\n".join(lines[:count]) + "\n", "utf-8")
        options = ["--data", str(data), "--out", str(out), "--steps", str(steps), "--threads", "1"]
        assert main([*options, "--longest", "3000"]) == 0
        return int(json.loads((out / "card.json").read_text("utf-8"))["steps"])

    assert warm_up(18, 1) == 1
    (first,) = out.glob("state*.pt")
    assert warm_up(18, 2) == 2 and [*out.glob("state*.pt")] == [first], "it has gone on"
    assert warm_up(20, 1) == 1
    (second,) = out.glob("state*.pt")
    assert second != first


def test_a_file_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--data", "--development"):
        with pytest.raises(SystemExit):
            main([option, str(tmp_path / "none.jsonl"), "--out", str(tmp_path / "policy")])
        assert f"there is no file {tmp_path / 'none.jsonl'}" in capsys.readouterr().err
    assert not (tmp_path / "policy").exists()
