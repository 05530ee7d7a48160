"""Export of a trained policy as a folder with weights, tokenizer, generation settings and a model card.

`python -m training_worker.training.export SOURCE OUT [--merge] [--licence ID]`; SOURCE is a run's folder, one of its
checkpoints, or a policy.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import GenerationConfig

from ..core.trajectory import UnreadableData
from ..policy.model_families import family_of
from ..policy.models import UnreadablePolicy, read_json, weight_files
from ..policy.policy_folder import ADAPTER, ADAPTER_CONFIG, CARD, Policy, check_weights, load_policy, load_tokenizer
from .grpo import silence_libraries
from .model_card import model_card
from .run_folder import PROGRESS


class NotExported(UnreadableData):
    """A failed export; the message says why and what to do."""


@dataclass(frozen=True)
class Source:
    """The source of an export: a folder with weights or an adapter, its card, and the run's folder if there is one."""

    weights: Path
    card: dict[str, Any]
    run: Path | None

    @property
    def adapted(self) -> bool:
        return (self.weights / ADAPTER).is_file()


def find(source: Path) -> Source:
    """Return what a folder has to export. Raises NotExported."""
    if (source / PROGRESS).is_file():
        run = source.parent.parent
        progress = read_json(source / PROGRESS)
        card = {"made_by": "grpo", "run": read_json(run / "run.json"), "steps": progress["step"]}
        return Source(source, card | {"seconds": progress["seconds"]}, None)
    for folder in (source, source / "policy", source / "out" / "policy"):
        if (folder / CARD).is_file():
            run = folder.parent
            return Source(folder, read_json(folder / CARD), run if (run / "run.json").is_file() else None)
    raise NotExported(
        f"{source} is not a run with a trained policy, a complete checkpoint or a policy. Give the folder of a run, "
        "one of its checkpoints/checkpoint-N, or a folder with a card.json."
    )


def export(source: Path, out: Path, *, merge: bool = False, licence: str = "") -> Path:
    """Write the folder atomically; `merge` merges an adapter into its model's weights.

    Raises NotExported, UnreadablePolicy, OSError.
    """
    found = find(source)
    if out.exists():
        raise NotExported(f"{out} already exists. Choose another folder, or delete it.")
    partial = out.with_name(out.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        policy = write(found, partial, merge)
        settings(policy, found.card).save_pretrained(partial)
        model_card(found.card, found.run, out.name, licence, merged=merge and found.adapted).save(partial / "README.md")
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return out


def write(found: Source, folder: Path, merge: bool) -> Policy:
    """Write the weights, or the adapter with the name of its base model, and the tokenizer."""
    folder.mkdir(parents=True)
    if not found.adapted:
        check_weights(weight_files(found.weights))
        policy = load_policy(found.weights, needs_card=False)
    elif merge:
        policy = load_policy(found.weights)
    else:
        base = Path(str(read_json(found.weights / ADAPTER_CONFIG).get("base_model_name_or_path")))
        policy = load_tokenizer(base)
        check_weights([found.weights / ADAPTER])
        for name in (ADAPTER, ADAPTER_CONFIG):
            shutil.copyfile(found.weights / name, folder / name)
    if policy.model is not None:
        policy.model.save_pretrained(folder)
    policy.tokenizer.save_pretrained(folder)
    return policy


def settings(policy: Policy, card: dict[str, Any]) -> GenerationConfig:
    """Return the generation settings used in training: the tokens that end a turn, and the temperature."""
    stop = sorted(family_of(policy.tokenizer).stop)
    temperature = float(card.get("run", {}).get("temperature", 1.0))
    return GenerationConfig(
        eos_token_id=stop, pad_token_id=policy.tokenizer.pad_token_id, do_sample=True, temperature=temperature
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="training_worker.training.export", description=__doc__.split("\n")[0])
    parser.add_argument("source", type=Path, help="the folder of a run, of one of its checkpoints, or of a policy")
    parser.add_argument("out", type=Path, help="the folder to write, which must not exist")
    parser.add_argument("--merge", action="store_true", help="add a LoRA adapter to the weights of its model")
    parser.add_argument("--licence", default="", help="identifier of the licence, such as apache-2.0")
    given = parser.parse_args(argv)
    silence_libraries()
    try:
        out = export(given.source.absolute(), given.out.absolute(), merge=given.merge, licence=given.licence)
    except (NotExported, UnreadablePolicy) as reason:
        print(reason, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename or given.out}: {error.strerror or error}.", file=sys.stderr)
        return 1
    print(json.dumps({"written": str(out), "files": sorted(file.name for file in out.iterdir())}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
