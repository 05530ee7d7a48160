"""Import of a file with external conversations: either all rows become examples, or none and the errors are listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.trajectory import BadLine, Example, Split, UnreadableData, file_digest
from ..dataset_folder import require_free_folder, write
from ..manifest import DrawCounts, Manifest
from . import bfcl, openai, when2call, xlam_irrelevance
from .conversation import BadRow, Convert, LeftOut, example_of
from .rows import Row, read_rows

if TYPE_CHECKING:
    from ...evaluation.contamination import Screen

MAX_LISTED = 20


@dataclass(frozen=True)
class Format:
    """One file format; `licence` is the licence of the format's dataset, as given on its card."""

    name: str
    title: str
    convert: Convert
    licence: str = ""


FORMATS = {
    one.name: one
    for one in (
        Format("when2call", "nvidia/When2Call, rows that require no call", when2call.convert, "cc-by-4.0"),
        Format("xlam-irrelevance", "MadeAgents/xlam-irrelevance-7.5k", xlam_irrelevance.convert, "cc-by-4.0"),
        Format("openai", "OpenAI chat messages with tools", openai.convert),
        Format("bfcl", "BFCL questions with possible answers", bfcl.convert, "apache-2.0"),
    )
}


class ImportRefused(UnreadableData):
    """A file of which nothing is imported; the message has the number of invalid lines and the first of them."""

    def __init__(self, path: Path, lines: list[BadLine]):
        examples = "\n".join(map(str, lines[:MAX_LISTED]))
        more = f"\nand {len(lines) - MAX_LISTED:,} more" if len(lines) > MAX_LISTED else ""
        summary = f"{path}: nothing was imported; invalid rows: {len(lines):,}. Fix or remove them."
        super().__init__(f"{summary}\n{examples}{more}")
        self.lines = lines


@dataclass(frozen=True)
class ImportResult:
    """The examples of a file without duplicates, its number of rows, and the reasons for skipped rows."""

    examples: list[Example]
    rows: int
    left_out: Counter[str]


def load(path: Path, format: Format, answers: Path | None = None, split: Split | None = None) -> ImportResult:
    """Read every row of a file as an example; `split` overrides the format's split. Raises UnreadableData, OSError."""
    convert, bad = with_answers(path, format, answers), list[BadLine]()
    found: dict[str, Example] = {}
    left_out: Counter[str] = Counter()
    number = 0
    unit, read = read_rows(path)
    for number, row in read:
        try:
            example = example_of(convert(row_of(row)), format.name, split)
        except LeftOut as reason:
            left_out[str(reason)] += 1
        except BadRow as reason:
            bad.append(row if isinstance(row, BadLine) else BadLine(str(path), number, f"{reason}.", unit))
        else:
            left_out["it repeats another"] += example.id in found
            found.setdefault(example.id, example)
    if bad:
        raise ImportRefused(path, bad)
    if not number:
        raise UnreadableData(f"{path} has no rows.")
    if not found:
        reasons = ", ".join(f"{reason} ({count:,})" for reason, count in left_out.items())
        raise UnreadableData(f"{path}: none of its {number:,} rows can be imported: {reasons}.")
    return ImportResult(list(found.values()), number, +left_out)


def row_of(row: Row | BadLine) -> Row:
    if isinstance(row, BadLine):
        raise BadRow
    return row


def with_answers(path: Path, format: Format, answers: Path | None) -> Convert:
    """Return the row converter; for BFCL with its possible answers, by default from next to its questions."""
    if format.name != "bfcl":
        if answers:
            raise UnreadableData(f"The format {format.name} has no answers file; only bfcl has one.")
        return format.convert
    beside = path.parent / "possible_answer" / path.name
    if answers is None and not beside.exists():
        if "irrelevance" in path.name:
            return format.convert
        raise UnreadableData(f"{beside} does not exist: pass the file of possible answers with --answers.")
    return partial(bfcl.convert, answers=dict(right_answers(answers or beside)))


def right_answers(path: Path) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a file of possible answers, by id. Raises ImportRefused, UnreadableData."""
    bad = list[BadLine]()
    unit, read = read_rows(path)
    for number, row in read:
        try:
            yield bfcl.id_of(found := row_of(row)), found
        except BadRow as reason:
            bad.append(row if isinstance(row, BadLine) else BadLine(str(path), number, f"{reason}.", unit))
    if bad:
        raise ImportRefused(path, bad)


def make(
    path: Path,
    folder: Path,
    format: Format,
    answers: Path | None = None,
    split: Split | None = None,
    *,
    replacing: bool = False,
    servers: Sequence[str] = (),
    certify: Callable[[list[Example]], list[Example]] = list,
    screen: Screen | None = None,
) -> Manifest:
    """Create a dataset from an external file, with the examples that `certify` returns.

    `servers` has the names of the servers that `certify` uses; `screen` holds out benchmark data. Raises
    UnreadableData, DatasetExistsError unless `replacing`, and what `certify` raises.
    """
    require_free_folder(folder, replacing)
    found = load(path, format, answers, split)
    settings: dict[str, Any] = {
        "format": format.name,
        "file": path.name,
        "sha256": file_digest(path),
        "rows": found.rows,
    }
    settings |= {"servers": list(servers)} if servers else {}
    examples = certify(found.examples)
    if screen:
        examples = [screen.screen_example(example) for example in examples]
        settings["contamination"] = screen.as_json()

    def split_of(side: Split) -> tuple[list[Example], DrawCounts]:
        mine = [example for example in examples if example.split == side]
        left = dict(sorted(found.left_out.items())) if side == "train" else {}
        return mine, DrawCounts(drawn=len(mine) + sum(left.values()), dropped=left)

    return write(folder, f"import-{format.name}", settings, 0, "", split_of, "")
