"""The server object of the file server, and the parameter types of its tools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..core import Server
from .seed import seed
from .state import FileTagId, FileVersionId, TrashedItemId
from .texts import SEARCH_TEXTS, TAGS
from .views import ArchivePath, DirectoryPath, FilePath

server = Server("filesystem", "Browse, read, write, move, archive and share files and folders.", seed)


LONGEST = 4_000
NEW_FILES = [
    "shopping-list.txt", "todo.md", "packing-list.txt", "meeting-agenda.md", "questions.txt", "summary-draft.md",
    "contacts-new.csv", "reading-list.txt", "interview-notes.md", "price-list.csv", "thank-you.txt", "recipe.md",
    "handover.md", "travel-plan.txt", "feedback.md", "seating-plan.csv", "wish-list.txt", "release-notes.md",
]  # fmt: skip
NEW_NAMES = [
    "final-version.md", "copy-for-review.txt", "old-draft.md", "approved.txt", "for-print.md", "signed.txt",
    "backup-copy.txt", "revised.md", "second-edition.md", "renamed.csv", "clean.csv", "first-half.txt",
    "second-half.txt", "public.md", "internal.md", "short-version.txt",
]  # fmt: skip
NEW_FOLDERS = [
    "incoming", "outbox", "to-review", "spring-campaign", "board-papers", "workshop", "vendors", "translations",
    "press-kit", "onboarding", "receipts", "drawings", "samples", "exports", "handbook", "candidates",
]  # fmt: skip
NEW_LINKS = [
    "shortcut", "current", "favourite", "quick-access", "see-also", "today", "reference", "main-file", "pinned",
    "starting-point", "top", "work-in-progress",
]  # fmt: skip
NEW_ARCHIVES = [
    "bundle.zip", "handover.zip", "monday.zip", "snapshot.zip", "for-client.zip", "year-end.zip", "package.zip",
    "before-cleanup.zip", "delivery.zip", "copy-of-all.zip", "attachments.zip", "safe-keeping.zip",
]  # fmt: skip
CONTENTS = [
    "Buy milk, bread and coffee.", "Call the garage before noon.", "1. Budget\n2. Open items\n3. Next review",
    "Who signs the contract?\nWho tells the client?", "The draft is ready for the team.", "name,phone\nreception,4410",
    "Passport, charger, adapter, rain jacket.", "Version 2 fixes the import and the monthly report.",
    "Thank you for the quick reply.", "Flour 500 g\nSugar 80 g\nBake for 40 minutes.", "item,price\nchair,89\ndesk,240",
    "Meet at platform 4 at 7:45.", "Strong in planning, new to sales.", "Keys are with the reception until Friday.",
    "table,seats\n1,8\n2,6", "All figures were checked twice.",
]  # fmt: skip
ADDITIONS = [
    "Ask the landlord about the heating.", "Checked and approved.", "See also the figures of last year.",
    "- [ ] order new chairs", "- [ ] send the invoice", "Moved to next week.", "Done on Monday.", "Needs a look.",
    "Next review in two weeks.", "The client agreed to the total.", "Water the plants in the hall.", "End of file",
    "Reminder: book the room.", "Cancelled by the supplier.",
]  # fmt: skip
REPLACED = [
    "draft", "the", "review", "budget", "client", "report", "team", "total", "pending", "open", "project", "month",
    "plan", "and", "meeting", "schedule",
]  # fmt: skip
REPLACEMENTS = [
    "final", "revised", "approved", "confirmed", "closed", "postponed", "combined", "detailed", "yearly", "external",
    "joint", "shared", "reopened plan", "team meeting", "annual report", "the new", "open project",
]  # fmt: skip
PATTERNS = [
    "*.csv", "*.md", "*.txt", "*report*", "*plan*", "*notes*", "*.p*", "*budget*", "*.log", "*-*", "*review*",
    "*summary*", "*.zip", "*sales*", "*training*", "*travel*", "*todo*",
]  # fmt: skip
MODES = ["644", "600", "640", "664", "660", "444", "755", "750", "700", "775", "400", "440"]
ROWS = 5

RELATIVE = "absolute or relative to the working directory"
FileRef = Annotated[FilePath, Field(min_length=1, max_length=LONGEST, description=f"Path of a file, {RELATIVE}")]
OtherFile = Annotated[
    FilePath, Field(min_length=1, max_length=LONGEST, description="Path of the file to compare it with")
]
EntryRef = Annotated[FilePath, Field(min_length=1, max_length=LONGEST, description="Path of a file, folder or link")]
TargetRef = Annotated[
    FilePath, Field(min_length=1, max_length=LONGEST, description="Path of the file or folder that the link leads to")
]
ArchiveRef = Annotated[ArchivePath, Field(min_length=1, max_length=LONGEST, description="Path of a .zip archive")]
DirectoryRef = Annotated[
    DirectoryPath, Field(min_length=1, max_length=LONGEST, description=f"Path of a folder, {RELATIVE}")
]
NextDirectory = Annotated[
    DirectoryPath,
    Field(min_length=1, max_length=LONGEST, description="Path of a folder; .. is the one above, - the previous one"),
]
IntoDirectory = Annotated[
    DirectoryPath, Field(min_length=1, max_length=LONGEST, description="Path of the folder it goes to")
]
VersionRef = Annotated[FileVersionId, Field(description="Id of a kept version of a file")]
TrashedRef = Annotated[TrashedItemId, Field(description="Id of an item in the trash")]

NewFile = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST, description=f"Path of the new file, {RELATIVE}", examples=NEW_FILES),
]
NewFolder = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST, description=f"Path of the new folder, {RELATIVE}", examples=NEW_FOLDERS),
]
NewLink = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST, description=f"Path of the new link, {RELATIVE}", examples=NEW_LINKS),
]
NewArchive = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LONGEST,
        description=f"Path of the new archive, {RELATIVE}; it ends in .zip",
        examples=NEW_ARCHIVES,
    ),
]
NewName = Annotated[
    str, Field(min_length=1, max_length=200, description="New name, without folders", examples=NEW_NAMES)
]
CopyName = Annotated[
    str | None,
    Field(min_length=1, max_length=200, description="Name of the copy, the same by default", examples=NEW_NAMES),
]
FolderName = Annotated[
    str | None,
    Field(
        min_length=1, max_length=200, description="New name of the folder, the same by default", examples=NEW_FOLDERS
    ),
]
Content = Annotated[str, Field(max_length=8_000, description="The whole text of the file", examples=CONTENTS)]
Addition = Annotated[
    str,
    Field(
        min_length=1, max_length=8_000, description="Text to add at the end, as lines of its own", examples=ADDITIONS
    ),
]
Old = Annotated[
    str, Field(min_length=1, max_length=400, description="Text to replace, exactly as it stands", examples=REPLACED)
]
New = Annotated[str, Field(max_length=400, description="Text to put in its place", examples=REPLACEMENTS)]
Which = Annotated[Literal["first", "every"], Field(description="Which occurrences to replace")]
Words = Annotated[
    str, Field(min_length=1, max_length=80, description="Words that follow each other in a line", examples=SEARCH_TEXTS)
]
Pattern = Annotated[
    str,
    Field(
        min_length=1,
        max_length=80,
        description="Name with the wildcards * and ?, upper or lower case",
        examples=PATTERNS,
    ),
]
NewTag = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9-]{0,23}$", description="Tag in small letters", examples=list(TAGS))
]
TagRef = Annotated[FileTagId, Field(min_length=1, max_length=24, description="A tag that files have")]
Mode = Annotated[
    str,
    Field(
        pattern=r"^[0-7]{3}$",
        description="Permission bits of owner, group and others, such as 640",
        examples=MODES,
    ),
]

Under = Annotated[
    DirectoryPath | None,
    Field(min_length=1, max_length=LONGEST, description="Folder to search with all below it, else where you work"),
]
DirectoryParam = Annotated[
    DirectoryPath | None,
    Field(min_length=1, max_length=LONGEST, description="Path of the folder, the working directory by default"),
]
RestoreTo = Annotated[
    DirectoryPath | None,
    Field(min_length=1, max_length=LONGEST, description="Folder to put it in, where it was by default"),
]
KindParam = Annotated[Literal["file", "folder", "archive", "link"] | None, Field(description="Only this kind")]
Sort = Annotated[Literal["name", "size", "modified"], Field(description="Order: by name, largest or newest first")]
Scope = Annotated[
    Literal["only if empty", "with all contents"], Field(description="Whether a folder that is not empty may go")
]
Depth = Annotated[int, Field(ge=1, le=6, description="How many levels of folders to show", examples=[1, 2, 3, 4])]
LineCount = Annotated[
    int, Field(ge=1, le=100, description="How many lines", examples=[1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25])
]
Limit = Annotated[
    int, Field(ge=1, le=50, description="Most rows of each kind to return", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20])
]
