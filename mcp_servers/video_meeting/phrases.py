"""The titles of seeded meetings."""

from __future__ import annotations

TOPICS = (
    "billing", "brand", "churn", "cloud", "compliance", "content", "conversion", "delivery", "feedback", "forecast",
    "incident", "inventory", "kitchen", "marketing", "onboarding", "partner", "payroll", "platform", "pricing",
    "privacy", "recruiting", "roadmap", "storage", "strategy", "supplier", "support", "translation", "warehouse",
)  # fmt: skip
FORMS = (
    "briefing call", "catch-up", "check-in", "deep dive", "dry run", "handover", "huddle", "interview", "jam session",
    "panel", "progress call", "rehearsal", "round table", "status call", "stand-up", "walkthrough", "webinar",
)  # fmt: skip
TITLES = tuple(f"{topic} {form}" for topic in TOPICS for form in FORMS)
