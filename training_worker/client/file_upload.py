"""Upload of a file of any size to the site, in chunks and resumable after an interruption."""

from __future__ import annotations

from pathlib import Path

from .errors import Conflict
from .resource import APIResource, Json


def begin(project: APIResource, file: str | Path) -> Json:
    """Announce a file; the returned `id` identifies the upload."""
    path = Path(file)
    return project.post("/imports", {"name": path.name, "size": path.stat().st_size})


def send(project: APIResource, upload: str, file: str | Path) -> Json:
    """Send the part of a file that the site lacks; call it again after an interruption. Raises StudioError."""
    stands = dict(project.get(f"/imports/{upload}"))
    with Path(file).open("rb") as source:
        while (at := stands["received"]) < stands["size"]:
            source.seek(at)
            if not (piece := source.read(stands["most"])):
                raise ValueError(f"{file} has {at:,} bytes, but {stands['size']:,} were announced. Start again.")
            stands = send_chunk(project, upload, piece, at)
    return stands


def send_chunk(project: APIResource, upload: str, piece: bytes, at: int) -> Json:
    """Send a chunk and return the state of the upload.

    A chunk that arrived while its response was lost is refused when it is sent again, which is no error.
    """
    address = f"{project.path}/imports/{upload}"
    try:
        return dict(project.studio.send(f"{address}/content", piece, at=at))
    except Conflict:
        stands = dict(project.get(f"/imports/{upload}"))
        if stands["received"] <= at:
            raise
        return stands
