"""Put beside the lines of a data set what others need: Parquet of each split, a card, and its plots."""

from __future__ import annotations

from pathlib import Path

from ..synthesis.dataset_folder import examples, read
from .card import PLOTS, card
from .parquet import write_parquet

CARD = "README.md"


def publish(folder: Path) -> None:
    """Write or renew them all. Raises what `folder.read` and `folder.check` do, KeyError for a tool that is gone."""
    from .plots import draw  # half a second that only this pays

    manifest = read(folder)
    for split in manifest.splits:
        write_parquet(folder / f"{split}.parquet", examples(folder, split))
    text = card(manifest, draw(manifest, folder / PLOTS))
    partial = folder / f"{CARD}.partial"
    partial.write_text(text, "utf-8")
    partial.replace(folder / CARD)
