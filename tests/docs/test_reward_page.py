"""The page on the reward: its tables say what the code says."""

import re
from dataclasses import fields
from pathlib import Path

from training_worker.reward import PAPER, PRESETS, RewardConfig
from training_worker.reward.config import FORMS
from training_worker.reward.presets import SAYS
from training_worker.reward.prove_reward import COMPONENTS

PAGE = (Path(__file__).parents[2] / "docs" / "reward.md").read_text("utf-8")


def test_the_presets_of_the_page_are_those_there_are():
    assert re.findall(r"^\| `(\w+)` \| ([^|]*) \|$", PAGE, re.M) == list(SAYS.items())
    assert list(SAYS) == list(PRESETS)


def test_the_fields_of_the_page_are_those_there_are_with_their_defaults():
    rows = re.findall(r"^\| `(\w+)` \| ([\w.]+) \| ([^|]*) \|$", PAGE, re.M)
    assert [row[:2] for row in rows] == [(field.name, str(field.default).lower()) for field in fields(RewardConfig)]
    assert re.findall(r"`(\w+)`", rows[0][2]) == list(FORMS)


def test_the_components_of_the_page_have_the_papers_weights():
    rows = re.findall(r"^\| (\w+) \| (\d[\d.]*) \|", PAGE, re.M)
    assert rows == [(name, str(getattr(PAPER, name))) for name in COMPONENTS]
