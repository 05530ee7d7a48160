"""Client methods for a project's datasets, imports, exports and trajectories."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import file_upload
from .resource import APIResource, Items, Json


class DataSets(APIResource):
    def datasets(self) -> Items:
        return self.all("/datasets")

    def dataset(self, number: int) -> Json:
        return dict(self.get(f"/datasets/{number}"))

    def make_dataset(self, **fields: Any) -> Json:
        """Create a dataset with the fields of the form *New dataset*; omitted fields have their defaults."""
        return self.post("/datasets", fields)

    def make_version(self, name: str = "", **selected: Any) -> Json:
        """Create a dataset from search results (`q`, `dataset`), or from a review queue (`queue`, `verdict`)."""
        return self.post("/datasets/versions", {"name": name, **selected})

    def split(self, dataset: int, **fields: Any) -> Json:
        return self.post(f"/datasets/{dataset}/split", fields)

    def mix(self, weights: Mapping[int, float], **fields: Any) -> Json:
        named = {str(number): weight for number, weight in weights.items()}
        return self.post("/datasets/mix", {"weights": named, **fields})

    def collect(self, run: int, steps: str, **fields: Any) -> Json:
        """Create a dataset from a run's rollouts in steps such as "1, 10-20"."""
        return self.post(f"/runs/{run}/collect", {"steps": steps, **fields})

    def import_file(self, file: str | Path, **read_as: Any) -> Json:
        """Import a file of any size as a dataset.

        The options are `format`, `columns`, `split`, `keep_good` and `name`. A job reads the file: `wait` for it, and
        see `import_faults`.
        """
        return self.start_import(self.send_upload(self.begin_upload(file)["id"], file)["id"], **read_as)

    def begin_upload(self, file: str | Path) -> Json:
        """Announce a file. Its `id` is used to send it, and to resume after an interruption."""
        return file_upload.begin(self, file)

    def send_upload(self, upload: str, file: str | Path) -> Json:
        """Send the part of a file that the site lacks, in chunks."""
        return file_upload.send(self, upload, file)

    def preview_import(self, upload: str, **read_as: Any) -> Json:
        """Return the first rows as they would be imported."""
        return self.post(f"/imports/{upload}/preview", read_as)

    def start_import(self, upload: str, **read_as: Any) -> Json:
        return self.post(f"/imports/{upload}/start", read_as)

    def import_faults(self, dataset: int) -> Items:
        """Iterate over the invalid rows of an imported file."""
        return self.all(f"/datasets/{dataset}/faults")

    def export(self, file: str | Path, format: str = "jsonl", **selected: Any) -> int:
        """Export trajectories to a file. Return its size in bytes."""
        return self.download("/datasets/export", file, format=format, **selected)

    def trajectories(self, q: str = "", **query: Any) -> Items:
        return self.all("/trajectories", q=q, **query)

    def trajectory(self, dataset: int, example: str) -> Json:
        return dict(self.get(f"/datasets/{dataset}/trajectories/{example}"))

    def comments(self, dataset: int, example: str, place: str | None = None) -> Items:
        """Iterate over the comments on a trajectory, or on a place in it, such as turn-1 or call-2."""
        return self.all(f"/datasets/{dataset}/trajectories/{example}/comments", place=place)

    def comment(self, dataset: int, example: str, text: str, place: str = "") -> Json:
        """Comment on a trajectory, or on one of its turns or calls."""
        return self.post(f"/datasets/{dataset}/trajectories/{example}/comments", {"text": text, "place": place})

    def rescore(self, of: str = "", **weights: Any) -> Json:
        """Return how another reward would score `run-3` or `dataset-2`."""
        return dict(self.get("/what-if", of=of, **weights))

    def corrections(self) -> Items:
        """Iterate over the trajectories that people corrected."""
        return self.all("/corrections")
