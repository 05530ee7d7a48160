"""Uploader of a spool to the site, in batches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .errors import Conflict, Invalid, NotFound
from .project import Project
from .resource import Json
from .spool import Item, Spool

BATCH = 200  # items per request
GONE = (NotFound, Conflict)  # the run was deleted, or accepts no data


def forward(project: Project, spool: Spool) -> Json:
    """Send all unsent items and return the last response. Raises StudioError; the next call continues from there.

    Items that the site finds invalid would be invalid again: they are skipped, and the error is raised after the rest.
    """
    heard: Json = {}
    refused: Invalid | None = None
    while (batch := spool.read_unsent(BATCH))[0]:
        items, behind = batch
        run = spool.place()[1]
        if run is None:
            run = int(project.post("/runs/outside", items[0]["make"])["number"])
        try:
            heard = send(project, run, items) or heard
        except Invalid as error:
            refused = error
        spool.mark_sent(behind, run)
    if refused is not None:
        raise refused
    return heard


def send(project: Project, run: int, items: Sequence[Item]) -> Json:
    """Send one request for all points, one for each step of rollouts, and one for the end if there is one."""
    points = {kind: [item[kind] for item in items if kind in item] for kind in ("points", "held_out")}
    heard: Json = {}
    refused: Invalid | None = None
    if points["points"] or points["held_out"]:
        heard = project.tell_run(run, **points)
    for item in items:
        if "rollouts" in item:
            try:
                heard = {**heard, **project.tell_rollouts(run, **item["rollouts"])}
            except Invalid as error:
                refused = error
        if "end" in item:
            project.end_run(run, **item["end"])
    if refused is not None:
        raise refused
    return heard


def send_left(project: Project, folder: str | Path) -> int:
    """Send what ended programs left in a folder. Return how many spools had unsent data. Raises StudioError."""
    spools = [Spool(path) for path in sorted(Path(folder).glob("*.jsonl"))]
    waiting = [spool for spool in spools if spool.read_unsent(1)[0]]
    for spool in waiting:
        forward(project, spool)
    return len(waiting)
