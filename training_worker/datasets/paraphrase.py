"""Paraphrase of a finished dataset by a language model: the same conversations, with checks on each text."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path

from ..core.trajectory import Example, Split
from ..endpoint import Endpoint
from ..endpoint.structured_output import TRIES
from ..synthesis.dataset import Progress
from ..synthesis.language_model import write_texts
from . import dataset_folder
from .manifest import DrawCounts, Manifest


def paraphrase_all(
    examples: Sequence[Example],
    endpoint: Endpoint,
    progress: Progress = lambda done, total: None,
    tries: int = TRIES,
) -> list[Example]:
    """Return the examples in order, in the model's words. Raises EndpointFailed; earlier answers stay in the cache."""
    written: list[Example] = []
    pool = ThreadPoolExecutor(endpoint.settings.parallel)
    try:
        for example in pool.map(lambda one: write_texts(one, endpoint, tries), examples):
            written.append(example)
            progress(len(written), len(examples))
    finally:
        pool.shutdown(cancel_futures=True)
    return written


def paraphrase_folder(
    source: Path,
    out: Path,
    endpoint: Endpoint,
    progress: Progress = lambda done, total: None,
    *,
    replacing: bool = False,
) -> Manifest:
    """Write a dataset with the same conversations in the model's words, each file atomically, the manifest last.

    Raises EndpointFailed, DatasetExistsError unless `replacing`, and what `dataset_folder.read` and
    `dataset_folder.check` raise.
    """
    known = dataset_folder.read(source)
    dataset_folder.require_free_folder(out, replacing)
    by_split = {split: list(dataset_folder.examples(source, split)) for split in dataset_folder.SPLITS}
    rest = iter(paraphrase_all([one for split in by_split.values() for one in split], endpoint, progress))

    def split_of(split: Split) -> tuple[list[Example], DrawCounts]:
        before = known.splits[split]
        counts = {field.name: getattr(before, field.name) for field in fields(DrawCounts)}
        return [next(rest) for _ in by_split[split]], DrawCounts(**counts)

    settings = {**known.settings, "paraphrased": known.content}
    teacher = f"paraphrase by {endpoint.settings.model}"
    return dataset_folder.write(out, known.recipe, settings, known.seed, known.servers, split_of, teacher)
