"""The audit of a model folder: its tokenizer, and its weights if it has any. Nothing in it is executed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from transformers import PreTrainedTokenizerFast

from ..core.trajectory import UnreadableData
from ..policy.timeout import enforce_timeout
from .checks import Verdict, audit

LONGEST_AUDIT = 120.0  # seconds, a hundred times the usual; a third-party template may never end


class UnreadableModel(UnreadableData):
    """A folder that holds no model that can be audited; the message says what is wrong and what to do."""


def audit_folder(folder: Path, weights: bool = True, seconds: float = LONGEST_AUDIT) -> Verdict:
    """Return the verdict on a model folder; without `weights`, or if it has none, on its tokenizer alone.

    The template is a third-party program and gets at most `seconds`.

    Raises UnreadableModel, UnknownFamily.
    """
    tokenizer = tokenizer_of(folder)
    try:
        with enforce_timeout(seconds):
            verdict = audit(tokenizer)
    except TimeoutError as error:
        raise UnreadableModel(
            f"{folder}: the audit of its chat template was stopped, {error}. Check it for an endless loop."
        ) from None
    if not weights or not has_weights(folder):
        return verdict
    from .weights import likelihood, model_of  # these import torch, which a tokenizer does not need

    found = likelihood(model_of(folder), tokenizer)
    return replace(verdict, checks=(*verdict.checks, found))


def tokenizer_of(folder: Path) -> PreTrainedTokenizerFast:
    """Return the tokenizer of a folder, from its unchanged tokenizer.json. Raises UnreadableModel."""
    if not folder.is_dir():
        raise UnreadableModel(f"{folder} does not exist: give the folder of a model on this machine.")
    if missing := [name for name in ("tokenizer.json", "tokenizer_config.json") if not (folder / name).is_file()]:
        raise UnreadableModel(f"{folder} lacks {' and '.join(missing)}: copy the whole folder of the model again.")
    try:
        return PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # the library raises plain Exception for a file that it cannot parse
        raise unreadable(folder, error) from None


def has_weights(folder: Path) -> bool:
    """Return whether there are weights. Raises UnreadableModel for weights that are not safetensors."""
    if any(folder.glob("*.safetensors")):
        return True
    if others := sorted(path.name for kind in ("*.bin", "*.pt", "*.pth") for path in folder.glob(kind)):
        raise UnreadableModel(f"{folder} has its weights in {others[0]}; only safetensors are read: convert them.")
    return False


def unreadable(folder: Path, error: Exception) -> UnreadableModel:
    reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
    return UnreadableModel(f"{folder} cannot be read ({reason}): copy the whole folder of the model again.")
