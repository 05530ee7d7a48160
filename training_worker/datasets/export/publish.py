"""Publication files of a dataset: Parquet of each split, a data card and its plots."""

from __future__ import annotations

from pathlib import Path

from ..dataset_folder import examples, read
from .card import PLOTS, card
from .parquet import write_parquet

CARD = "README.md"


def publish(folder: Path) -> None:
    """Write or replace all files. Raises what reading the dataset folder raises, and KeyError for a missing tool."""
    from .plots import draw  # imported here, because importing matplotlib takes half a second

    manifest = read(folder)
    for split in manifest.splits:
        write_parquet(folder / f"{split}.parquet", examples(folder, split))
    text = card(manifest, draw(manifest, folder / PLOTS))
    partial = folder / f"{CARD}.partial"
    partial.write_text(text, "utf-8")
    partial.replace(folder / CARD)
