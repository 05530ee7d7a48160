"""Of a project: data sets, the files they are made of and become, and their trajectories."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import uploading
from .resource import APIResource, Items, Json


class DataSets(APIResource):
    def datasets(self) -> Items:
        return self.all("/datasets")

    def dataset(self, number: int) -> Json:
        return dict(self.get(f"/datasets/{number}"))

    def make_dataset(self, **fields: Any) -> Json:
        """The fields of the page *New data set*; those that are left out are as usual."""
        return self.post("/datasets", fields)

    def make_version(self, name: str = "", **selected: Any) -> Json:
        """A data set of what a search (`q`, `dataset`) finds, or a queue settled on (`queue`, `verdict`)."""
        return self.post("/datasets/versions", {"name": name, **selected})

    def split(self, dataset: int, **fields: Any) -> Json:
        return self.post(f"/datasets/{dataset}/split", fields)

    def mix(self, weights: Mapping[int, float], **fields: Any) -> Json:
        named = {str(number): weight for number, weight in weights.items()}
        return self.post("/datasets/mix", {"weights": named, **fields})

    def collect(self, run: int, steps: str, **fields: Any) -> Json:
        """A data set of a run's rollouts, of steps such as "1, 10-20"."""
        return self.post(f"/runs/{run}/collect", {"steps": steps, **fields})

    def import_file(self, file: str | Path, **read_as: Any) -> Json:
        """A data set of a file of any size; `format`, `columns`, `split`, `keep_good` and `name` say how it is read.

        Its job reads it: `wait` for that, and see `import_faults`.
        """
        return self.start_import(self.send_upload(self.begin_upload(file)["id"], file)["id"], **read_as)

    def begin_upload(self, file: str | Path) -> Json:
        """Announce a file. With its `id` it is sent, and gone on with after a cut."""
        return uploading.begin(self, file)

    def send_upload(self, upload: str, file: str | Path) -> Json:
        """Send what the site has not yet of a file, a piece at a time."""
        return uploading.send(self, upload, file)

    def preview_import(self, upload: str, **read_as: Any) -> Json:
        """The first rows as they would come in."""
        return self.post(f"/imports/{upload}/preview", read_as)

    def start_import(self, upload: str, **read_as: Any) -> Json:
        return self.post(f"/imports/{upload}/start", read_as)

    def import_faults(self, dataset: int) -> Items:
        """The rows of an imported file that were bad."""
        return self.all(f"/datasets/{dataset}/faults")

    def export(self, file: str | Path, format: str = "jsonl", **selected: Any) -> int:
        """Trajectories as a file; how many bytes it has."""
        return self.download("/datasets/export", file, format=format, **selected)

    def trajectories(self, q: str = "", **query: Any) -> Items:
        return self.all("/trajectories", q=q, **query)

    def trajectory(self, dataset: int, example: str) -> Json:
        return dict(self.get(f"/datasets/{dataset}/trajectories/{example}"))

    def comments(self, dataset: int, example: str, place: str | None = None) -> Items:
        """What was said of a trajectory, or at a place of it, such as turn-1 or call-2."""
        return self.all(f"/datasets/{dataset}/trajectories/{example}/comments", place=place)

    def comment(self, dataset: int, example: str, text: str, place: str = "") -> Json:
        """Say something of a trajectory, or of one of its turns or calls."""
        return self.post(f"/datasets/{dataset}/trajectories/{example}/comments", {"text": text, "place": place})

    def rescore(self, of: str = "", **weights: Any) -> Json:
        """What another reward would have said of `run-3` or `dataset-2`."""
        return dict(self.get("/what-if", of=of, **weights))

    def corrections(self) -> Items:
        """The trajectories that people mended."""
        return self.all("/corrections")
