"""Servers, tools and seeds of the small policy that ships with the product."""

from __future__ import annotations

SERVERS = ("banking", "calendar", "email", "budget", "social_media", "marketplace")
UNSEEN_TOOLS = (
    "get_transaction",
    "remove_attendee",
    "archive_message",
    "remove_expense",
    "edit_post",
    "end_market_listing",
)
"""One tool of each of its servers, which no training conversation contains."""
UNSEEN_SERVERS = ("issue_tracker", "team_chat")  # of other kinds; results on them show what it learnt of schemas
TRAIN_SEED, DEVELOPMENT_SEED = 0, 1  # of the warm-up's recipes, in training worlds and in held-out worlds
