"""Capabilities of an enrolled machine besides training: its installed benchmarks and configured models."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..core.models import model_folders
from ..evaluation.registry import KNOWN

ASKS_AN_ENDPOINT = {"tau2"}  # there a model plays the user, through an endpoint of the site


def detect_capabilities(data: Path) -> dict[str, Any]:
    """Return `benchmarks` (names), `models` (names) and `vllm` (whether it is installed)."""
    root = data / "benchmarks"
    there = [
        one.name
        for one in KNOWN.values()
        if one.name not in ASKS_AN_ENDPOINT and not one.describe_missing_requirement(root)
    ]
    return {"benchmarks": there, "models": sorted(model_folders(data)), "vllm": find_spec("vllm") is not None}
