"""Contents of seeded files: notes, reports, tables, logs, scripts, settings and letters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..core import Draw

TOPICS = (
    "budget", "website", "kitchen", "garden", "travel", "insurance", "marketing", "sales", "training", "survey",
    "inventory", "launch", "hiring", "energy", "logistics", "newsletter", "conference", "research", "festival",
    "warehouse", "parking", "heating", "museum", "bakery", "cycling", "recycling", "exhibition", "catering",
)  # fmt: skip
TAGS = (
    "urgent", "private", "client", "archived", "idea", "legal", "shared", "to-print", "finance", "reviewed", "family",
    "waiting", "tax", "q1", "q2", "q3", "q4", "internal", "confidential", "obsolete", "template", "signed", "home",
    "school", "board", "press", "public", "follow-up", "important", "reference", "evidence", "learning", "health",
    "vendor", "sample", "rejected",
)  # fmt: skip
SEARCH_TEXTS = [
    "draft", "review", "budget", "deadline", "schedule", "client", "the team", "invoices", "pending", "contract",
    "delivery", "next review", "open items", "error", "total", "status", "import", "timeout", "figures", "meeting",
]  # fmt: skip

SENTENCES = (
    "The {topic} budget is still a draft and needs a review by {one}.",
    "We agreed to move the deadline of the {topic} project by {n} days.",
    "{company} sent an offer of {n}00 euros for the {topic} work.",
    "{one} updates the schedule before the next meeting.",
    "The client asked for a shorter report on {topic}.",
    "Two invoices from {company} are pending since last week.",
    "The total for this month is {n}40 euros, a little under the plan.",
    "{one} checked the figures and found {n} open items.",
    "The next review of the {topic} plan is with the whole team.",
    "There is no decision on the contract with {company} yet.",
    "This version replaces the draft of last month.",
    "The delivery from {company} may be late again.",
    "{one} takes over the {topic} project from {other}.",
    "Please keep the report up to date, the team reads it every week.",
    "Costs for {topic} went down by {n} percent.",
    "All open questions go to {one} first, then to the client.",
    "The plan for {topic} was approved in the meeting on Tuesday.",
    "The team wants {n} more hours for the {topic} review.",
)
TASKS = (
    "call {company} about the {topic} contract", "send the draft to {one}", "check the {topic} budget",
    "book a room for the meeting", "update the schedule", "order {n} chairs", "answer the client",
    "print the report for {one}", "review the open items", "ask {one} for the figures", "plan the next month",
    "pay the pending invoices",
)  # fmt: skip
MESSAGES = (
    "INFO import finished in {n} s", "ERROR connection timeout after {n} s", "INFO user {one} signed in",
    "WARN disk holds {n} files too many", "WARN retry {n} of the open request", "INFO report for {topic} written",
    "ERROR error while reading the {topic} project", "INFO backup of {topic} finished",
    "ERROR error 5{n}: upstream closed the connection", "INFO cache cleared, total {n} entries",
)  # fmt: skip
ITEMS = (
    "desk", "chair", "lamp", "printer", "paper", "screen", "cable", "ladder", "paint", "coffee", "ticket", "licence",
    "battery", "filter",
)  # fmt: skip
STATES = ("open", "paid", "pending", "draft", "done")
CODE = {
    "py": (
        '"""Helpers for the {topic} report."""', "import csv", "", "", "def total(rows):",
        '    """The total of all open rows."""',
        '    return sum(int(row["amount"]) for row in rows if row["status"] == "open")',
        "", "", "def load(path):", "    with open(path) as file:", "        return list(csv.DictReader(file))", "",
        "# TODO ask {one} about the draft rows", "LIMIT = {n}",
    ),
    "sh": (
        "#!/bin/sh", "# keeps a copy of the {topic} project", "set -e", 'TARGET="/tmp/{topic}"', 'mkdir -p "$TARGET"',
        'cp -r ./plan "$TARGET"', 'echo "backup done"', "# open: ask {one} for the schedule", "exit 0",
    ),
}  # fmt: skip
SETTINGS = {
    "ini": ("[{topic}]", "status = draft", "limit = {n}", "owner = {one}", "report = weekly", "language = en"),
    "yaml": ("project: {topic}", "status: open", "team:", "  - {one}", "  - {other}", "limit: {n}", "report: month"),
    "json": ("{{", '  "project": "{topic}",', '  "status": "draft",', '  "limit": {n},', '  "owner": "{one}"', "}}"),
}


@dataclass
class Writer:
    """Writes the contents of one world's files, as of `today`, about its people and the companies they deal with."""

    draw: Draw
    today: datetime
    people: list[str]
    companies: list[str]

    def fill(self, template: str, topic: str) -> str:
        draw = self.draw
        return template.format(
            topic=topic,
            one=draw.choice(self.people),
            other=draw.choice(self.people),
            company=draw.choice(self.companies),
            n=draw.integer(2, 29),
        )

    def sentences(self, topic: str, count: int) -> list[str]:
        return [self.fill(text, topic) for text in self.draw.sample(SENTENCES, count)]

    def write(self, kind: str, extension: str, topic: str) -> str:
        """Return a text of a kind such as notes or logs, for a file with this extension."""
        writers: dict[str, Callable[[str, str], list[str]]] = {
            "notes": self.notes,
            "reports": self.report,
            "data": self.table,
            "scripts": self.script,
            "logs": self.log,
            "settings": self.settings,
            "letters": self.letter,
        }
        return "\n".join(writers[kind](topic, extension)) + "\n"

    def notes(self, topic: str, extension: str) -> list[str]:
        draw, mark = self.draw, "- [ ] " if extension == "md" else "* "
        title = f"# {topic.title()} notes" if extension == "md" else f"{topic.upper()} NOTES"
        tasks = [mark + self.fill(task, topic) for task in draw.sample(TASKS, draw.integer(2, 5))]
        return [title, "", *self.sentences(topic, draw.integer(1, 3)), "", *tasks]

    def report(self, topic: str, extension: str) -> list[str]:
        head, draw = "## " if extension == "md" else "", self.draw
        lines = [f"# Report on {topic}" if head else self.fill("Report on {topic}, written by {one}", topic), ""]
        for part in draw.sample(("Summary", "Budget", "Open items", "Next steps", "Risks"), draw.integer(2, 3)):
            lines += [f"{head}{part}", *self.sentences(topic, draw.integer(1, 3)), ""]
        return lines[:-1]

    def table(self, topic: str, extension: str) -> list[str]:
        draw = self.draw
        rows = [
            f"{self.day()},{draw.choice(ITEMS)},{draw.integer(4, 960)},{draw.choice(STATES)}"
            for _ in range(draw.integer(4, 24))
        ]
        return ["date,item,amount,status", *rows]

    def script(self, topic: str, extension: str) -> list[str]:
        return [self.fill(line, topic) for line in CODE[extension]]

    def settings(self, topic: str, extension: str) -> list[str]:
        return [self.fill(line, topic) for line in SETTINGS[extension]]

    def log(self, topic: str, extension: str) -> list[str]:
        draw, day = self.draw, self.day()
        minutes = sorted(draw.integer(0, 1_439) for _ in range(draw.integer(5, 40)))
        return [
            f"{day} {minute // 60:02}:{minute % 60:02} " + self.fill(draw.choice(MESSAGES), topic) for minute in minutes
        ]

    def letter(self, topic: str, extension: str) -> list[str]:
        one, other = self.draw.sample(self.people, 2)
        return [f"Dear {one},", "", *self.sentences(topic, self.draw.integer(2, 4)), "", "Best regards", other]

    def day(self) -> str:
        return (self.today - timedelta(days=self.draw.integer(1, 300))).date().isoformat()
