"""User-edited metadata of a run: name, tags, notes, pin, baseline and archiving."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from prove_web.accounts.models import Project
from prove_web.live.models import Job

from .models import Run

MOST_TAGS, LONGEST_TAG = 20, 40
LONGEST_NAME, LONGEST_NOTES = 80, 20_000
MOST_RUNS = 5_000  # runs whose tags are collected for suggestions
ODD = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")  # characters that the database or tables cannot hold
BETWEEN = re.compile(r"[,\n]")


class InvalidMetadata(ValueError):
    """Error for invalid metadata; the message says why and what is allowed."""


class NotesDiffer(InvalidMetadata):
    """Error for notes saved concurrently by someone else: `theirs`, at `revision`."""

    def __init__(self, theirs: str):
        super().__init__(
            "Someone else saved these notes while you were editing. Your text is in the box, the saved version is "
            "below: merge both and save again."
        )
        self.theirs, self.revision = theirs, revision_of(theirs)


def bases(run: Run) -> list[Run]:
    """Return the runs offered as baseline: pinned ones first, then the newest."""
    others = in_sight(run.project).exclude(pk=run.pk).only("number", "name", "project")
    found = list(others.order_by("-pinned", "-number")[:100])
    if run.against and run.against not in found:
        found.append(run.against)
    return found


def in_sight(project: Project) -> QuerySet[Run]:
    """Return the runs of a project that are not deleted."""
    return Run.objects.filter(project=project, deleted_at=None)


def known_tags(project: Project) -> list[str]:
    """Return the tags of the project's runs in alphabetical order."""
    tagged = in_sight(project).exclude(tags=[]).order_by("-number").values_list("tags", flat=True)[:MOST_RUNS]
    return sorted({tag for tags in tagged for tag in tags})


def read_tags(text: str) -> list[str]:
    """Split a comma-separated list of tags."""
    return BETWEEN.split(text)


def normalise_tags(tags: Iterable[str]) -> list[str]:
    """Return the tags sorted, without duplicates, in lower case and trimmed. Raises InvalidMetadata."""
    found = dict.fromkeys(tag for one in tags if (tag := " ".join(one.lower().split())))
    for tag in found:
        if len(tag) > LONGEST_TAG or ODD.search(tag) or "," in tag or '"' in tag:
            raise InvalidMetadata(
                f"“{tag[:LONGEST_TAG]}” is not a valid tag: use at most {LONGEST_TAG} characters, no comma and no "
                "quotation mark. Nothing was changed."
            )
    if len(found) > MOST_TAGS:
        raise InvalidMetadata(f"A run has at most {MOST_TAGS} tags; these would be {len(found)}. Nothing was changed.")
    return sorted(found)


def set_tags(run: Run, tags: Iterable[str]) -> None:
    """Replace the tags of a run. Raises InvalidMetadata."""
    run.tags = normalise_tags(tags)
    run.save(update_fields=["tags"])


@transaction.atomic
def change_tags(run: Run, add: Iterable[str] = (), remove: Iterable[str] = ()) -> bool:
    """Add and remove tags, preserving concurrent changes; return whether any changed. Raises InvalidMetadata."""
    held = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
    wanted = normalise_tags(tag for tag in (*held.tags, *normalise_tags(add)) if tag not in normalise_tags(remove))
    run.tags, before = wanted, held.tags
    if wanted != before:
        run.save(update_fields=["tags"])
    return wanted != before


def pin(run: Run, on: bool = True) -> bool:
    """Pin or unpin a run; return whether anything changed."""
    changed, run.pinned = run.pinned != on, on
    run.save(update_fields=["pinned"])
    return changed


def archive(run: Run, on: bool = True) -> bool:
    """Archive or restore a run; return whether anything changed."""
    if (run.archived_at is not None) == on:
        return False
    run.archived_at = timezone.now() if on else None
    run.save(update_fields=["archived_at"])
    return True


@transaction.atomic
def rename(run: Run, name: str) -> None:
    """Rename a run and its job. Raises InvalidMetadata."""
    name = " ".join(ODD.sub(" ", name).split())
    if not name or len(name) > LONGEST_NAME:
        raise InvalidMetadata(f"Enter a run name of at most {LONGEST_NAME} characters. The name was not changed.")
    run.name = name
    run.save(update_fields=["name"])
    Job.objects.filter(pk=run.job_id).update(title=name)


def revision_of(notes: str) -> str:
    """Return a fingerprint of notes, by which an edit names the version it started from."""
    return sha256(notes.encode()).hexdigest()[:16]


@transaction.atomic
def write_notes(run: Run, text: str, revision: str) -> None:
    """Save notes edited from the version at `revision`. Raises NotesDiffer, InvalidMetadata."""
    text = text.replace("\r\n", "\n").replace("\0", "").strip()
    text = text.encode("utf-8", "replace").decode()
    if len(text) > LONGEST_NOTES:
        raise InvalidMetadata(
            f"Notes have at most {LONGEST_NOTES:,} characters; these have {len(text):,}. Shorten them."
        )
    held = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
    if held.notes != text and revision_of(held.notes) != revision:
        raise NotesDiffer(held.notes)
    run.notes = text
    run.save(update_fields=["notes"])


def set_base(run: Run, base: Run | None) -> bool:
    """Set or clear the baseline of a run; return whether anything changed. Raises InvalidMetadata."""
    if base is not None and base.pk == run.pk:
        raise InvalidMetadata("A run cannot be its own baseline. Choose another run.")
    if base is not None and base.project_id != run.project_id:
        raise InvalidMetadata("The baseline must be a run of the same project. Choose another run.")
    if run.base_id == (base and base.pk):
        return False
    run.base = base
    run.save(update_fields=["base"])
    return True
