"""The words that seeded mail is made of."""

from __future__ import annotations

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
