"""The models that a run may start from: folders under the roots that the worker's operator configures.

PROVE_MODELS holds the roots, separated by colons (default: `models` in PROVE_DATA). A model is requested by its path
under a root, and nothing outside all roots is read, through any link.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ..core.models import SHIPPED, model_folders, model_roots
from ..core.trajectory import UnreadableData, file_digest

DATA = Path(__file__).parents[2] / "data"
INDEX, WEIGHTS = "model.safetensors.index.json", "model.safetensors"
ADAPTER, ADAPTER_CONFIG = "adapter_model.safetensors", "adapter_config.json"
DEEPEST = 16  # the most adapters on top of each other
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".msgpack", ".h5")
TOKENIZER = ("tokenizer.json", "tokenizer_config.json")
SUPPORTED = {
    "Qwen3ForCausalLM": "qwen3",
    "Qwen2ForCausalLM": "qwen2.5",
    "GraniteForCausalLM": "granite",
    "GraniteMoeHybridForCausalLM": "granite",
    "LlamaForCausalLM": "llama",
}


class UnreadablePolicy(UnreadableData):
    """A folder that holds no usable policy; the message says what is wrong and what to do."""


def roots() -> list[Path]:
    """Return the folders that models are read from, in the configured order."""
    return [root.resolve() for root in model_roots(data_folder())]


def data_folder() -> Path:
    return Path(os.environ.get("PROVE_DATA") or DATA).expanduser()


def is_within(path: Path, folders: list[Path]) -> bool:
    real = path.resolve()
    return any(real.is_relative_to(folder) for folder in folders)


def find_model(name: str) -> Path:
    """Return the folder of a model by its name: `warm`, or a path under a root. Raises UnreadablePolicy."""
    if name == "warm":
        return SHIPPED
    for root in roots():
        folder = root / name
        plain = bool(name) and not Path(name).is_absolute() and ".." not in Path(name).parts
        if plain and folder.is_dir() and folder.resolve() != root and is_within(folder, [root]):
            return folder
    known = ", ".join(list(dict.fromkeys(["warm", *sorted(model_folders(data_folder()))]))[:20])
    where = ", ".join(map(str, roots()))
    raise UnreadablePolicy(f"There is no policy {name!r}. Available: {known}. Put it into {where} (PROVE_MODELS).")


def check_links(folder: Path) -> None:
    """Raise UnreadablePolicy for a path under the roots that leads out of them."""
    allowed = roots()
    for file in folder.rglob("*"):
        if not is_within(file, allowed):
            raise UnreadablePolicy(
                f"{file} leads out of {', '.join(map(str, allowed))}. Copy the target of the link instead."
            )


def check_folder(folder: Path) -> None:
    """Raise UnreadablePolicy for a folder that is not a model, or that only code could open."""
    files = {file.name for file in folder.iterdir()}
    if not {WEIGHTS, INDEX} & files:
        if "adapter_model.safetensors" in files:
            raise UnreadablePolicy(f"{folder} holds a LoRA adapter without its model. Merge it into its model first.")
        if pickled := sorted(name for name in files if name.endswith(PICKLES)):
            raise UnreadablePolicy(
                f"{folder} holds its weights as {pickled[0]}, a format that can run code when it is read. "
                "Only safetensors are read: convert it, or get the model as safetensors."
            )
        raise UnreadablePolicy(f"{folder} holds no weights: {WEIGHTS} or {INDEX} is missing. Copy the whole folder.")
    if missing := sorted({"config.json", *TOKENIZER} - files):
        raise UnreadablePolicy(
            f"{folder} is not a complete model: {', '.join(missing)} missing. Copy the whole folder."
        )
    for name in ("config.json", "tokenizer_config.json"):
        if "auto_map" in read_json(folder / name):
            raise UnreadablePolicy(
                f"{folder} contains custom code (auto_map in {name}), which is not run here. "
                "Use a model that transformers supports without it."
            )


def model_under(folder: Path) -> Path:
    """Return the folder of a policy's full weights: its own, or its adapter's base model. Raises UnreadablePolicy."""
    return layers(folder)[-1]


def layers(folder: Path) -> list[Path]:
    """Return a policy's folder, then those that its adapter was trained on. Raises UnreadablePolicy."""
    found = [folder]
    while not (found[-1] / "config.json").is_file() and (found[-1] / ADAPTER).is_file():
        if len(found) > DEEPEST:
            raise UnreadablePolicy(
                f"{folder} is an adapter on more than {DEEPEST} others. Merge it into its model first."
            )
        found.append(Path(str(read_json(found[-1] / ADAPTER_CONFIG).get("base_model_name_or_path"))))
    return found


def weights_digest(folder: Path) -> str:
    """Return the digests of a policy's weight files, then of those beneath it; "" if there are none.

    Raises UnreadablePolicy.
    """
    return "+".join(file_digest(file) for layer in layers(folder) for file in sorted(layer.glob("*.safetensors")))


def weight_files(folder: Path) -> list[Path]:
    """Return the safetensors of a model: one file, or those its index names. Raises UnreadablePolicy."""
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    names = sorted(set(dict(read_json(folder / INDEX).get("weight_map", {})).values()))
    if not names or any(Path(name).name != name or not name.endswith(".safetensors") for name in names):
        raise UnreadablePolicy(f"{folder / INDEX} does not name safetensors beside it. Copy the whole folder again.")
    if missing := [name for name in names if not (folder / name).is_file()]:
        raise UnreadablePolicy(
            f"{folder} is incomplete: {', '.join(missing[:3])} missing. Copy the whole folder again."
        )
    return [folder / name for name in names]


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object. Raises UnreadablePolicy."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadablePolicy(f"{path} cannot be read: {error}. Copy the whole folder again.") from None
    if not isinstance(found, dict):
        raise UnreadablePolicy(f"{path} is not a JSON object. Copy the whole folder again.")
    return found
