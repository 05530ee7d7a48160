"""Import of an uploaded file into a dataset folder, with a report of every invalid row."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_servers.catalogue import SERVERS, fingerprint

from ...core.trajectory import Example, UnreadableData, dumps
from ..export.lines import RunningDigest, escape_formula
from ..files import write_streamed
from ..items import contents_of
from ..manifest import Manifest
from ..rollout_dataset import ROLLOUTS, DatasetRollout
from .reader import OURS, Fault, ManifestRow, ParsedRow, ReadOptions, SkippedRow, read

if TYPE_CHECKING:  # at run time this would import the benchmarks' dependencies
    from ...evaluation.contamination import Screen

FAULTS = "faults.csv"  # in the job's folder
MOST_FAULTS, MOST_ROWS = 10_000, 200_000
REPEATS = "it repeats another"


@dataclass
class Outcome:
    """The result of an import, by counts of rows.

    `told` is the content digest in the file's last line, `same` whether it matches the imported content; None without
    such a line. `other_code` counts examples that replay but were made with other server code. `contamination` says
    what is held out because a benchmark contains it (evaluation/contamination.py).
    """

    rows: int = 0
    good: int = 0
    bad: int = 0
    other_code: int = 0
    attempts: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    told: str = ""
    content: str = ""
    contamination: dict[str, Any] = field(default_factory=dict)

    @property
    def same(self) -> bool | None:
        return self.told == self.content if self.told else None

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "left_out": dict(self.left_out), "same": self.same}


class NothingImported(UnreadableData):
    """A file from which nothing was imported; the message says why and what to do."""


class DatasetImporter:
    """One pass over a file's rows: valid rows are streamed to the dataset's files, invalid rows to a report."""

    def __init__(
        self, folder: Path, options: ReadOptions, progress: Callable[[int, int], None], screen: Screen | None = None
    ):
        """Set up the import; `progress` gets the rows and bytes read so far, `screen` holds out benchmark data."""
        self.folder, self.options, self.progress, self.bytes = folder, options, progress, 0
        self.screen = screen
        self.outcome, self.running = Outcome(), RunningDigest()
        self.contents: dict[str, str] = {}  # digests by id, because a file's rows may not fit into memory
        self.written_examples: set[str] = set()  # ids of the rollouts' examples that were written

    def import_files(self, out: Path, files: Sequence[Path], settings: dict[str, Any], *, keep_good: bool) -> Manifest:
        """Run the import. Raises NothingImported, UnreadableData, OSError, and what `progress` raises."""
        made: Manifest | None = None
        try:
            name, left_out = f"import-{self.options.format}", self.outcome.left_out
            servers = fingerprint(tuple(SERVERS)) if self.options.format == OURS else ""
            made = write_streamed(out, name, settings, self.examples(out, files, settings), left_out, servers=servers)
        finally:
            if made is None:
                forget(out)
        self.outcome.content = self.running.content
        if self.outcome.bad and not keep_good:
            forget(out)
            raise NothingImported(
                f"{self.outcome.bad:,} of {self.outcome.rows:,} rows are invalid; nothing was imported. The report "
                "lists them with reasons. Fix them, or import only the valid rows."
            )
        if not self.outcome.good:
            forget(out)
            raise NothingImported(self.why_nothing())
        if not self.outcome.attempts:
            (out / ROLLOUTS).unlink(missing_ok=True)
        return made

    def why_nothing(self) -> str:
        reasons = [f"{reason} ({count:,})" for reason, count in self.outcome.left_out.items() if count]
        bad = [f"invalid, see the report ({self.outcome.bad:,})"] if self.outcome.bad else []
        return f"None of its rows ({self.outcome.rows:,}) was imported: {', '.join(reasons + bad) or 'it has none'}."

    def examples(self, out: Path, files: Sequence[Path], settings: dict[str, Any]) -> Iterator[Example]:
        """Yield the examples to write; rollouts go to a file of their own, and their shared example is yielded once.

        At the end the result of the benchmark screen is added to the settings.
        """
        out.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            faults = stack.enter_context((self.folder / FAULTS).open("w", encoding="utf-8-sig", newline=""))
            attempts = stack.enter_context((out / ROLLOUTS).open("w", encoding="utf-8"))
            report = csv.writer(faults)
            report.writerow(["place", "number", "why", "begins"])
            for one in read(files, self.options, self.count_bytes):
                self.count()
                if isinstance(one, Fault):
                    self.outcome.bad += 1
                    if self.outcome.bad <= MOST_FAULTS:
                        cells = (one.unit, one.number, one.reason, one.start)
                        report.writerow([escape_formula(cell) for cell in cells])
                elif isinstance(one, SkippedRow):
                    self.outcome.left_out[one.reason] += 1
                elif isinstance(one, ManifestRow):
                    self.outcome.told, self.outcome.rows = one.content, self.outcome.rows - 1
                elif (made := self.deduplicate_row(one)) is not None:
                    yield from self.store(made, attempts)
        if self.screen:
            settings["contamination"] = self.outcome.contamination = self.screen.as_json()

    def count(self) -> None:
        self.outcome.rows += 1
        if self.outcome.rows > MOST_ROWS + 1:
            raise UnreadableData(f"It has more than {MOST_ROWS:,} rows, which is the limit. Split the file.")
        self.progress(self.outcome.rows, self.bytes)

    def count_bytes(self, size: int) -> None:
        self.bytes += size

    def deduplicate_row(self, found: ParsedRow) -> Example | DatasetRollout | None:
        """Return the example or rollout of a row under a unique id; None if it repeats another."""
        self.outcome.other_code += not found.same_code
        made = found.made
        says = contents_of(made) if isinstance(made, Example) else sha256(dumps(made).encode()).hexdigest()
        if self.contents.get(made.id, says) != says:
            made = make_id_unique(made, says)
        if made.id in self.contents:
            self.outcome.left_out[REPEATS] += 1
            return None
        self.contents[made.id] = says
        return made

    def store(self, made: Example | DatasetRollout, attempts: Any) -> Iterator[Example]:
        self.outcome.good += 1
        if self.screen and isinstance(made, Example):
            made = self.screen.screen_example(made)
        line = dumps(made) + "\n"
        self.running.add(made, line)
        if isinstance(made, Example):
            yield made
            return
        self.outcome.attempts += 1
        attempts.write(line)
        if made.example.id not in self.written_examples:
            self.written_examples.add(made.example.id)
            yield made.example


def make_id_unique(made: Example | DatasetRollout, says: str) -> Example | DatasetRollout:
    """Return the same record under an id that includes a hash of its contents."""
    return replace(made, id=f"{made.id[:33]}-{sha256(says.encode()).hexdigest()[:6]}")


def forget(out: Path) -> None:
    for path in out.glob("*"):
        if path.is_file():
            path.unlink()
