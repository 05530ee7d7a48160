"""Reader and writer of MLflow's folder `mlruns`, with MLflow's own client. Numbers keep their full precision."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

os.environ.update(MLFLOW_ALLOW_FILE_STORE="true", MLFLOW_DISABLE_TELEMETRY="true")

from mlflow.entities import Metric, Param, RunTag
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from .tracked_run import MOST_RUNS, NotRead, TrackedRun, group_into_points, map_trainer_names

ABOUT = "prove.run"
STATES = {"FINISHED": "done", "FAILED": "failed", "KILLED": "stopped"}
ENDS = {state: status for status, state in STATES.items()}
BATCH = 1_000  # metrics in one request to MLflow
MOST_PARAMS, LONGEST = 100, 6_000  # in one request, and characters of one
ODD = re.compile(r"[^A-Za-z0-9_./: -]")  # characters that MLflow allows in no name


def read(path: Path) -> list[TrackedRun]:
    """Read every run of every experiment. Raises NotRead."""
    root = root_of(path)
    complete(root)
    client = MlflowClient(tracking_uri=root.as_uri())
    try:
        experiments = [one.experiment_id for one in client.search_experiments()]
        runs = client.search_runs(experiments, max_results=MOST_RUNS + 1) if experiments else []
        if len(runs) > MOST_RUNS:
            raise NotRead(f"It has more than {MOST_RUNS} runs, the limit of one import.")
        found = [run_of(client, run) for run in runs]
    except MlflowException as error:
        raise NotRead(f"MLflow cannot read it: {str(error)[:300]}") from None
    if not found:
        raise NotRead("It contains no MLflow run.")
    return found


def root_of(path: Path) -> Path:
    """Return the folder that holds experiments, which is this one or one inside it. Raises NotRead."""
    for meta in sorted(path.rglob("meta.yaml"), key=lambda found: len(found.parts)):
        if (root := meta.parent.parent) == path or path in root.parents:
            return root.resolve()
    raise NotRead("It contains no folder of MLflow experiments, such as `mlruns`.")


def complete(root: Path) -> None:
    """Create the empty folders that a zip may have dropped, without which MLflow finds no run."""
    (root / ".trash").mkdir(exist_ok=True)
    for meta in root.glob("*/*/meta.yaml"):
        for name in ("artifacts", "metrics", "params", "tags"):
            (meta.parent / name).mkdir(exist_ok=True)


def run_of(client: Any, run: Any) -> TrackedRun:
    histories = {key: client.get_metric_history(run.info.run_id, key) for key in sorted(run.data.metrics)}
    about = about_of(run.data.tags.get(ABOUT, ""))
    called = about.pop("names") if about else map_trainer_names(histories)
    values = [
        (called.get(key, key), one.step, one.timestamp / 1000, float(one.value))
        for key, history in histories.items()
        for one in history
    ]
    tags = tuple(value for key, value in sorted(run.data.tags.items()) if key == "tags" and value)
    rows = group_into_points(values)
    known: dict[str, Any] = {
        "name": str(run.info.run_name or run.info.run_id)[:80],
        "config": dict(run.data.params),
        "tags": tags,
        "state": STATES.get(run.info.status, "done"),
    }
    return TrackedRun(**{**known, **about}, points=rows["points"], held_out=rows["held_out"])


def about_of(text: str) -> dict[str, Any]:
    """Return what this site wrote beside the numbers; empty for runs of others."""
    try:
        fields = json.loads(text)
        found = {name: fields[name] for name in ("name", "config", "state", "names")}
        return found | {"tags": tuple(fields["tags"])}
    except (ValueError, KeyError, TypeError):
        return {}


def write(run: TrackedRun, folder: Path) -> None:
    """Write a folder `mlruns` with one experiment of one run; `mlflow ui --backend-store-uri` shows it."""
    root = folder / "mlruns"
    client = MlflowClient(tracking_uri=root.resolve().as_uri())
    experiment = client.create_experiment("PROVE Studio", artifact_location="mlflow-artifacts:/prove")
    values = list(run.values())
    times = [int(1000 * time) for _, _, time, _ in values] or [0]
    made = client.create_run(experiment, start_time=min(times), run_name=run.name)
    names = keys(dict.fromkeys(name for name, *_ in values))
    about = {"name": run.name, "config": run.config, "tags": run.tags, "state": run.state}
    about["names"] = {key: name for name, key in names.items()}
    client.set_tag(made.info.run_id, ABOUT, json.dumps(about))
    params = [Param(ODD.sub("_", name)[:250], str(value)[:LONGEST]) for name, value in run.config.items() if name]
    for at in range(0, len(params), MOST_PARAMS):
        client.log_batch(made.info.run_id, params=params[at : at + MOST_PARAMS])
    metrics = [Metric(names[name], value, int(1000 * time), step) for name, step, time, value in values]
    for at in range(0, len(metrics), BATCH):
        client.log_batch(made.info.run_id, metrics=metrics[at : at + BATCH])
    if run.tags:
        client.log_batch(made.info.run_id, tags=[RunTag("tags", ", ".join(run.tags))])
    client.set_terminated(made.info.run_id, ENDS.get(run.state, "FINISHED"), end_time=max(times))
    shutil.rmtree(root / "0")  # an empty experiment that contains the path of this folder


def keys(names: Any) -> dict[str, str]:
    """Map each name to a name that MLflow allows; no two are the same."""
    found: dict[str, str] = {}
    for name in names:
        key, again = ODD.sub("_", name), 2
        while key in found.values():
            key, again = f"{ODD.sub('_', name)}_{again}", again + 1
        found[name] = key
    return found
