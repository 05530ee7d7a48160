"""A file of any size on its way to the site: read and sent a piece at a time, and gone on with after a cut."""

from __future__ import annotations

from pathlib import Path

from .errors import Conflict
from .resource import APIResource, Json


def begin(project: APIResource, file: str | Path) -> Json:
    """Announce a file; `id` names it from now on."""
    path = Path(file)
    return project.post("/imports", {"name": path.name, "size": path.stat().st_size})


def send(project: APIResource, upload: str, file: str | Path) -> Json:
    """Send what the site has not yet of a file; called again after a cut, it goes on. Raises StudioError."""
    stands = dict(project.get(f"/imports/{upload}"))
    with Path(file).open("rb") as source:
        while (at := stands["received"]) < stands["size"]:
            source.seek(at)
            if not (piece := source.read(stands["most"])):
                raise ValueError(f"{file} has {at:,} bytes, and {stands['size']:,} were announced. Begin anew.")
            stands = sent(project, upload, piece, at)
    return stands


def sent(project: APIResource, upload: str, piece: bytes, at: int) -> Json:
    """How it stands after a piece. One that came through without its answer is refused when it is sent again."""
    address = f"{project.path}/imports/{upload}"
    try:
        return dict(project.studio.send(f"{address}/content", piece, at=at))
    except Conflict:
        stands = dict(project.get(f"/imports/{upload}"))
        if stands["received"] <= at:
            raise
        return stands
