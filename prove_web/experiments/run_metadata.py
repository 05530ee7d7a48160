"""What people make of a run beside its numbers: a name, tags, notes, a pin, a baseline; and that it is put away."""

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
MOST_RUNS = 5_000  # whose tags are offered, and that a list of tags is made of
ODD = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")  # what no database or table takes
BETWEEN = re.compile(r"[,\n]")


class InvalidMetadata(ValueError):
    """What cannot be kept of a run; the message says why, and what can."""


class NotesDiffer(InvalidMetadata):
    """Somebody else saved other notes meanwhile: `theirs`, which are at `revision`."""

    def __init__(self, theirs: str):
        super().__init__(
            "Someone else saved these notes while you were editing. Your text is in the box, the saved version is "
            "below: merge both and save again."
        )
        self.theirs, self.revision = theirs, revision_of(theirs)


def bases(run: Run) -> list[Run]:
    """The runs that this one may be measured against: pinned ones first, then the newest."""
    others = in_sight(run.project).exclude(pk=run.pk).only("number", "name", "project")
    found = list(others.order_by("-pinned", "-number")[:100])
    if run.against and run.against not in found:
        found.append(run.against)
    return found


def in_sight(project: Project) -> QuerySet[Run]:
    """The runs of a project but for those that are deleted."""
    return Run.objects.filter(project=project, deleted_at=None)


def known_tags(project: Project) -> list[str]:
    """The tags of the project's runs, in alphabetical order."""
    tagged = in_sight(project).exclude(tags=[]).order_by("-number").values_list("tags", flat=True)[:MOST_RUNS]
    return sorted({tag for tags in tagged for tag in tags})


def read_tags(text: str) -> list[str]:
    """Tags as they are typed, with commas between them."""
    return BETWEEN.split(text)


def tidied(tags: Iterable[str]) -> list[str]:
    """Tags in order, each once, in small letters and without blanks at their ends. Raises NotKept."""
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
    """Give a run these tags in place of those it has. Raises NotKept."""
    run.tags = tidied(tags)
    run.save(update_fields=["tags"])


@transaction.atomic
def change_tags(run: Run, add: Iterable[str] = (), remove: Iterable[str] = ()) -> bool:
    """Add and remove tags, whatever others do with other tags meanwhile; whether that changed any. Raises NotKept."""
    held = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
    wanted = tidied(tag for tag in (*held.tags, *tidied(add)) if tag not in tidied(remove))
    run.tags, before = wanted, held.tags
    if wanted != before:
        run.save(update_fields=["tags"])
    return wanted != before


def pin(run: Run, on: bool = True) -> bool:
    """Put a run at the top of the table, or let it go from there; whether that changed anything."""
    changed, run.pinned = run.pinned != on, on
    run.save(update_fields=["pinned"])
    return changed


def archive(run: Run, on: bool = True) -> bool:
    """Take a run off the table, or put it back; whether that changed anything."""
    if (run.archived_at is not None) == on:
        return False
    run.archived_at = timezone.now() if on else None
    run.save(update_fields=["archived_at"])
    return True


@transaction.atomic
def rename(run: Run, name: str) -> None:
    """Call a run and its job by another name. Raises NotKept."""
    name = " ".join(ODD.sub(" ", name).split())
    if not name or len(name) > LONGEST_NAME:
        raise InvalidMetadata(f"Enter a run name of at most {LONGEST_NAME} characters. The name was not changed.")
    run.name = name
    run.save(update_fields=["name"])
    Job.objects.filter(pk=run.job_id).update(title=name)


def revision_of(notes: str) -> str:
    """Names what notes say: whoever writes says which ones they began with."""
    return sha256(notes.encode()).hexdigest()[:16]


@transaction.atomic
def write_notes(run: Run, text: str, revision: str) -> None:
    """Keep notes that were written in place of those at a revision. Raises NotesDiffer, NotKept."""
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
    """Measure a run against another one of its project, or none; whether that changed anything. Raises NotKept."""
    if base is not None and base.pk == run.pk:
        raise InvalidMetadata("A run cannot be its own baseline. Choose another run.")
    if base is not None and base.project_id != run.project_id:
        raise InvalidMetadata("The baseline must be a run of the same project. Choose another run.")
    if run.base_id == (base and base.pk):
        return False
    run.base = base
    run.save(update_fields=["base"])
    return True
