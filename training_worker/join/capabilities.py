"""What a machine that joins can do beside training: the benchmarks that it has, and the models that it names."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..prove.benchmarks.registry import KNOWN
from ..prove.models import model_folders

ASKS_AN_ENDPOINT = {"tau2"}  # a model plays the user there, and what it is asked by is the site's own


def able(data: Path) -> dict[str, Any]:
    """`benchmarks` (names), `models` (names), `vllm` (whether it is here)."""
    root = data / "benchmarks"
    there = [one.name for one in KNOWN.values() if one.name not in ASKS_AN_ENDPOINT and not one.missing(root)]
    return {"benchmarks": there, "models": sorted(model_folders(data)), "vllm": find_spec("vllm") is not None}
