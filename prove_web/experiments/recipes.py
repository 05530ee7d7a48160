"""Launch form presets: the paper's settings, or those of the tiny policy on a CPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from training_worker.config.presets import RATES, RECIPES, settings_of

from .defaults import START
from .form_fields import format_config_value
from .initial_policy import audit_of, model_folder

TITLES = {
    "tiny": "Tiny policy on a CPU",
    "final_norm": "Tiny policy, final norm only",
    "gpu": "One GPU, LoRA",
    "paper": "The paper, for the chosen policy",
    "paper:qwen3-4b": "The paper, Qwen3-4B",
    "paper:qwen3-8b": "The paper, Qwen3-8B",
    "paper:qwen2.5-7b": "The paper, Qwen2.5-7B",
    "paper:granite-8b": "The paper, Granite-4.1-8B",
}
MODELS = {"qwen3-4b": ("qwen3", 4e9), "qwen3-8b": ("qwen3", 8e9), "qwen2.5-7b": ("qwen2.5", 7e9)}
MODELS |= {"granite-8b": ("granite4", 8e9)}
TINY = {"minutes": 6.0, "decay": START["decay"], "epochs": 3, "batch": 8, "longest": 2048, "evaluate_every": 20}
BEYOND: dict[str, dict[str, Any]] = {  # settings beyond the preset's GRPO settings
    "tiny": TINY,
    "final_norm": TINY,
    # three epochs (section 4) and the batch size of GRPO; the paper gives no learning rate, so a common one is used
    "gpu": {"minutes": 2_880.0, "epochs": 3, "batch": 16, "longest": 8_192, "evaluate_every": 25},
    "paper": {"minutes": 20_160.0, "epochs": 3, "batch": 16, "longest": 28_768, "evaluate_every": 50},
}
SFT_RATE = 1e-5
UNLIMITED_STEPS = 100_000  # step limit; a supervised run ends with its epochs
BYTES = 2  # per parameter of a published model

assert {title.partition(":")[0] for title in TITLES} == RECIPES.keys() == BEYOND.keys()


def build_preset_values(name: str, given: Mapping[str, Any]) -> dict[str, str]:
    """Return a preset's values by form field; the learning rate depends on the kind of run and the model."""
    name, _, model = name.partition(":")
    lora = str(given.get("lora_rank") or "0").strip() not in ("", "0")
    settings = settings_of(name, *(MODELS[model] if model else model_of(str(given.get("policy", "")))), lora)
    settings |= {f"limit_{part}": value for part, value in settings.pop("limits", {}).items()}
    settings |= BEYOND[name]
    if given.get("kind") == "sft" and name == "paper":
        settings |= {"learning_rate": SFT_RATE, "max_steps": UNLIMITED_STEPS}
    return {field: format_config_value(value) for field, value in settings.items() if field in START}


def model_of(policy: str) -> tuple[str, float]:
    """Return a model's family and parameter count from its audit and files; else those of the paper's first model."""
    folder, audit = model_folder(policy), audit_of(policy)
    if folder is None or audit is None or audit.family not in RATES:
        return "qwen3", 4e9
    return audit.family, size_of(folder) / BYTES


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("*.safetensors") if file.is_file())
