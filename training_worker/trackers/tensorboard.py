"""Reader and writer of TensorBoard event files. Scalars are float32; settings are a text that only this site reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.plugins.text import metadata
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util import tensor_util

from .tracked_run import MOST_RUNS, NotRead, TrackedRun, group_into_points, map_trainer_names

ABOUT = "prove/run"
PATTERN = "*tfevents*"
EVERYTHING = {"scalars": 0, "tensors": 0, "images": 1, "audio": 1, "histograms": 1, "compressedHistograms": 1}


def read(path: Path) -> list[TrackedRun]:
    """Read each folder with event files as a run. Raises NotRead."""
    files = [path] if path.is_file() else sorted(path.rglob(PATTERN))
    folders = list(dict.fromkeys(file if path.is_file() else file.parent for file in files))
    if not folders:
        raise NotRead("It contains no TensorBoard event file, whose name has “tfevents” in it.")
    if len(folders) > MOST_RUNS:
        raise NotRead(f"It has {len(folders)} runs; one import reads at most {MOST_RUNS}.")
    found = [run_of(folder, path) for folder in folders]
    if not any(run.points or run.held_out for run in found):
        raise NotRead("Its event files have no scalars, or are damaged from the start.")
    return [run for run in found if run.points or run.held_out]


def run_of(folder: Path, root: Path) -> TrackedRun:
    events = EventAccumulator(str(folder), size_guidance=EVERYTHING)
    events.Reload()
    values = list(scalars(events))
    about = about_of(events)
    if about is None:
        called = map_trainer_names(dict.fromkeys(name for name, *_ in values))
        values = [(called[name], step, time, value) for name, step, time, value in values]
    name = folder.relative_to(root).as_posix() if folder != root else folder.name
    known: dict[str, Any] = {"name": name[:80], **(about or {})}
    rows = group_into_points(values)
    return TrackedRun(**known, points=rows["points"], held_out=rows["held_out"])


def scalars(events: Any) -> Any:
    """Yield scalars of both kinds of files: those with a number, and those with a tensor of one number."""
    tags = events.Tags()
    for tag in tags["scalars"]:
        for event in events.Scalars(tag):
            yield tag, event.step, event.wall_time, float(event.value)
    for tag in tags["tensors"]:
        if tag != ABOUT and events.SummaryMetadata(tag).plugin_data.plugin_name == "scalars":
            for event in events.Tensors(tag):
                yield tag, event.step, event.wall_time, float(tensor_util.make_ndarray(event.tensor_proto).item())


def about_of(events: Any) -> dict[str, Any] | None:
    """Return what this site wrote beside the scalars; None for files of others."""
    if ABOUT not in events.Tags()["tensors"]:
        return None
    try:
        text = tensor_util.make_ndarray(events.Tensors(ABOUT)[0].tensor_proto).item()
        about = json.loads(text)
        return {name: about[name] for name in ("name", "config", "state")} | {"tags": tuple(about["tags"])}
    except (ValueError, KeyError, TypeError):
        return None


def write(run: TrackedRun, folder: Path) -> None:
    """Write one event file to the folder."""
    writer = EventFileWriter(str(folder))
    about = {"name": run.name, "config": run.config, "tags": run.tags, "state": run.state}
    tensor = tensor_util.make_tensor_proto(json.dumps(about).encode(), shape=())
    text = summary_pb2.Summary.Value(tag=ABOUT, tensor=tensor, metadata=metadata.create_summary_metadata("Run", ""))
    began = next((time for _, _, time, _ in run.values()), 0.0)
    writer.add_event(event_pb2.Event(wall_time=began, step=0, summary=summary_pb2.Summary(value=[text])))
    for name, step, time, value in run.values():
        writer.add_event(event_of(name, step, time, value))
    writer.close()
    for file in folder.glob(PATTERN):
        file.rename(folder / f"events.out.tfevents.{int(began):010d}.prove")  # without the name of this machine


def event_of(name: str, step: int, time: float, value: float | None) -> Any:
    number = summary_pb2.Summary.Value(tag=name, simple_value=value)
    return event_pb2.Event(wall_time=time, step=step, summary=summary_pb2.Summary(value=[number]))
