"""The words that seeded channels and messages are made of."""

from __future__ import annotations

from itertools import product

FIRST_WORDS = (
    "api", "billing", "brand", "budget", "data", "design", "events", "finance", "growth", "hiring", "infra", "legal",
    "mobile", "office", "ops", "press", "product", "research", "sales", "security", "support", "travel", "web",
)  # fmt: skip
LAST_WORDS = ("chat", "desk", "help", "news", "plans", "reviews", "team", "watch")
CHANNELS = (*FIRST_WORDS, *(f"{first}-{last}" for first, last in product(FIRST_WORDS, LAST_WORDS)))
ABOUT = (
    "Questions and answers about {name}", "Plans for {name} this quarter", "All about {name}",
    "Who does what in {name}", "News from {name}", "Help with {name}",
)  # fmt: skip

THINGS = (
    "login page", "invoice template", "price list", "landing page", "onboarding guide", "test server", "press kit",
    "travel policy", "road map", "sales deck", "survey", "backup script", "customer list", "holiday rota",
    "coffee machine", "release notes", "security audit", "newsletter", "meeting room", "search index", "mobile app",
    "budget draft", "contract", "hiring plan", "dashboard", "payment form", "photo archive", "style guide",
    "parking permit", "team calendar",
)  # fmt: skip
FORMS = (
    "The {thing} is done", "Can somebody look at the {thing}", "Who owns the {thing}", "I have updated the {thing}",
    "We should talk about the {thing}", "The {thing} is broken", "Feedback on the {thing} is welcome",
    "Here is the new {thing}", "Has anybody seen the {thing}", "The client asked about the {thing}",
    "I am working on the {thing}", "Please leave the {thing} alone", "The {thing} needs an owner",
)  # fmt: skip
ENDINGS = ("", " today", " before lunch", " by Friday", " once more", " this week", " for the demo", " again")
TEXTS = tuple(form.format(thing=thing) + ending for form, thing, ending in product(FORMS, THINGS, ENDINGS))
