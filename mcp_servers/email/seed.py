"""Initial state of the mailbox: recent conversations, contacts, drafts and labels."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import cycle
from typing import Literal, NamedTuple

from ..core import Draw
from ..shared.people import COMPANIES, cast, get_start_time
from ..shared.records import BookingCode, InvoiceId, bookings, invoices
from .state import MOST_ATTACHED_KB, Contact, Draft, Folder, Label, LabelId, Mail, Mailbox, Message, Thread

# Vocabulary of the seeded mail.

FIRST_WORDS = (
    "quarterly", "budget", "travel", "office", "team", "client", "product", "design", "hiring", "training",
    "garden", "launch", "summer", "winter", "spring", "autumn", "annual", "weekly", "supplier", "warehouse",
    "website", "contract", "security", "research", "media", "energy", "harbour", "museum", "kitchen", "student",
)  # fmt: skip
LAST_WORDS = (
    "report", "review", "plan", "update", "agenda", "schedule", "survey", "invoice", "checklist", "notes",
    "proposal", "offer", "summary", "photos", "questions", "feedback", "order", "figures", "tickets", "menu", "map",
    "sketch", "forecast", "rota", "brochure", "deadline", "receipt", "results", "minutes", "guide",
)  # fmt: skip
SUBJECTS = tuple(f"{first} {last}" for first in FIRST_WORDS for last in LAST_WORDS)

RECEIVED = (
    "Here is the {subject} we talked about",
    "Could you look at the {subject} before Friday",
    "I need your opinion on the {subject}",
    "The {subject} has changed since last week",
    "Who else should see the {subject}",
    "Please confirm the {subject} by tomorrow",
)
ANSWERED = (
    "Thanks, the {subject} looks good to me",
    "I will come back to you about the {subject}",
    "Two points of the {subject} are still open",
    "Let us settle the {subject} on Monday",
)
AUTOMATIC = (
    "Your {subject} is now available online",
    "This is a reminder about the {subject}",
    "The {subject} was updated automatically",
)
WRITTEN = (
    "I have finished my part of the {subject}",
    "Please find my thoughts on the {subject} below",
    "When can we talk about the {subject}",
)
TOO_SHORT = ("tbd", "hi", "later", "todo")

USER_LABELS = (
    "work", "travel", "invoices", "family", "clients", "events", "reports", "reading", "taxes", "ideas", "partners",
    "legal", "finance", "planning", "archive copies", "press",
)  # fmt: skip
SYSTEM_LABELS = ("updates", "promotions", "forums", "social")
ATTACHMENTS = ("figures.xlsx", "slides.pdf", "scan.pdf", "photos.zip", "plan.docx", "video.mp4", "sketch.png")


Kind = Literal["single", "exchange", "automatic", "archived"]


class Size(NamedTuple):
    """How many rows a world has, and over how many days its mail is spread."""

    kinds: tuple[Kind, ...]
    longest: int
    contacts: int
    drafts: int
    labels: int
    system_labels: int
    days: int


def mix(single: int, exchange: int, automatic: int, archived: int) -> tuple[Kind, ...]:
    counts: dict[Kind, int] = {"single": single, "exchange": exchange, "automatic": automatic, "archived": archived}
    return tuple(kind for kind, count in counts.items() for _ in range(count))


SIZES = {
    "small": Size(mix(2, 1, 1, 1), longest=2, contacts=12, drafts=3, labels=3, system_labels=1, days=9),
    "default": Size(mix(10, 10, 5, 7), longest=5, contacts=40, drafts=8, labels=8, system_labels=3, days=40),
    "large": Size(mix(140, 260, 70, 130), longest=5, contacts=150, drafts=40, labels=14, system_labels=4, days=300),
}


@dataclass(frozen=True)
class Plan:
    """A seeded message before it has an id: `place` is its position in its thread, `thread` that of the thread."""

    at: datetime
    thread: int
    place: int
    sent: bool


class Notice(NamedTuple):
    """What an automatic message says besides, and what of another server it is about."""

    text: str
    booking: BookingCode | None = None
    invoice: InvoiceId | None = None


def seed(seed: int, size: str) -> Mail:
    """Return the mailbox of a seed; sizes are small, default and large."""
    mail = Mail(seed, get_start_time(seed))
    draw, scale = Draw("email", seed, size), SIZES[size]
    put_people(mail, draw, scale)
    put_labels(mail, draw, scale)
    subjects = draw.sample(SUBJECTS, len(scale.kinds) + scale.drafts)
    kinds = draw.shuffle_items(scale.kinds)
    put_messages(mail, draw, kinds, subjects, plan_messages(draw, kinds, scale, mail.now))
    put_drafts(mail, draw, subjects[len(kinds) :])
    return mail


def put_people(mail: Mail, draw: Draw, scale: Size) -> None:
    owner, *others = cast(mail.seed, scale.contacts + 1)
    labels = scale.labels + draw.integer(1, 4)
    mail.mailboxes.put(Mailbox(id=owner.id, name=owner.name, label_limit=labels, hourly_limit=draw.choice((6, 8, 10))))
    for person in others:
        blocked = draw.chance(0.1)
        mail.contacts.put(Contact.from_row(person, blocked=blocked))


def put_labels(mail: Mail, draw: Draw, scale: Size) -> None:
    for name in draw.sample(SYSTEM_LABELS, scale.system_labels):
        mail.labels.put(Label(id=mail.labels.new_id(), label=name, kind="system"))
    for name in draw.sample(USER_LABELS, scale.labels):
        mail.labels.put(Label(id=mail.labels.new_id(), label=name, kind="user"))


def plan_messages(draw: Draw, kinds: list[Kind], scale: Size, now: datetime) -> list[Plan]:
    """Return all messages in order of time; the sides of an exchange alternate, and its last day is before today."""
    plans = []
    for thread, kind in enumerate(kinds):
        count = draw.integer(2, scale.longest) if kind == "exchange" else 1
        day = now - timedelta(days=draw.integer(1, scale.days))
        at, mine = (day.replace(hour=draw.integer(8, 18), minute=draw.integer(0, 59)), draw.chance(0.2))
        for place in range(count - 1, -1, -1):
            plans.append(Plan(at, thread, place, kind == "exchange" and (place % 2 == 1) != mine))
            at -= timedelta(minutes=draw.integer(20, 400))
    return sorted(plans, key=lambda plan: (plan.at, plan.thread))


def put_messages(mail: Mail, draw: Draw, kinds: list[Kind], subjects: list[str], plans: list[Plan]) -> None:
    threads = [put_thread(mail, draw, kind, subject) for kind, subject in zip(kinds, subjects, strict=False)]
    contacts = list(mail.contacts)
    partners = [draw.choice(contacts) for _ in threads]
    senders = [draw.choice(tuple(COMPANIES.values())) for _ in threads]
    latest: dict[int, Message] = {}
    notices = cycle(notices_of(mail.seed))
    for plan in plans:
        thread, kind, before = (threads[plan.thread], kinds[plan.thread], latest.get(plan.thread))
        automatic = kind == "automatic"
        attachment, size = draw_attachment(draw, plan.sent)
        text = draw.choice(AUTOMATIC if automatic else ANSWERED if before else RECEIVED)
        notice = next(notices) if automatic else Notice("")
        latest[plan.thread] = mail.messages.put(
            Message(
                id=mail.messages.new_id(),
                thread=thread.id,
                subject=f"re: {thread.subject}" if before else thread.subject,
                name=senders[plan.thread] if automatic else partners[plan.thread].name,
                address=None if automatic else partners[plan.thread].id,
                body=text.format(subject=thread.subject) + notice.text,
                at=plan.at,
                folder=folder_of(kind, plan),
                unread=not plan.sent and kind != "archived" and draw.chance(0.5),
                labels=draw_labels(mail, draw, automatic),
                answers=before.id if before else None,
                attachment=attachment,
                attachment_kb=size,
                booking=notice.booking,
                invoice=notice.invoice,
            )
        )


def notices_of(seed: int) -> list[Notice]:
    """Return the subjects of automatic messages: the user's bookings and invoices, alternating."""
    flights = [
        Notice(f". Your flight to {booking.destination.name} on {booking.day} is booked", booking=booking.code)
        for booking in bookings(seed)
    ]
    bills = [
        Notice(f". The invoice for {invoice.subject.lower()} is due on {invoice.due}", invoice=invoice.id)
        for invoice in invoices(seed)
    ]
    return [notice for pair in zip(flights, bills, strict=False) for notice in pair]


def put_thread(mail: Mail, draw: Draw, kind: Kind, subject: str) -> Thread:
    locked = kind != "automatic" and draw.chance(0.15)
    return mail.threads.put(Thread(id=mail.threads.new_id(), subject=subject, locked=locked))


def folder_of(kind: Kind, plan: Plan) -> Folder:
    if plan.sent:
        return "sent"
    return "archive" if kind == "archived" else "inbox"


def draw_attachment(draw: Draw, sent: bool) -> tuple[str | None, int | None]:
    """Return an attachment's name and KB, often none; a sent one is within the limit, a received one may exceed it."""
    if draw.chance(0.7):
        return None, None
    large = not sent and draw.chance(0.3)
    size = draw.integer(MOST_ATTACHED_KB + 1, 2 * MOST_ATTACHED_KB) if large else draw.integer(40, 9_000)
    return draw.choice(ATTACHMENTS), size


def draw_labels(mail: Mail, draw: Draw, automatic: bool) -> tuple[LabelId, ...]:
    """Return a system label for an automatic message, and for any other message none or one of the owner's."""
    if not automatic and draw.chance(0.65):
        return ()
    kind = "system" if automatic else "user"
    return (draw.choice(mail.labels.where(kind=kind)).id,)


def put_drafts(mail: Mail, draw: Draw, subjects: list[str]) -> None:
    """Add drafts; the first is ready to be sent, others may lack a recipient or a proper text."""
    contacts = [contact for contact in mail.contacts if not contact.blocked]
    for number, subject in enumerate(subjects):
        lacks = draw.choose_weighted(("nothing", "recipient", "text"), (0.6, 0.2, 0.2)) if number else "nothing"
        to = None if lacks == "recipient" else draw.choice(contacts)
        mail.drafts.put(
            Draft(
                id=mail.drafts.new_id(),
                to=to.id if to else None,
                name=to.name if to else None,
                subject=subject,
                body=draw.choice(TOO_SHORT if lacks == "text" else WRITTEN).format(subject=subject),
            )
        )
