"""Abstention: no tool fits the request. The policy passes if it makes no call."""

from __future__ import annotations

from .case import Behaviour, make_success_only_case

ABSTENTION = Behaviour(
    name="abstention",
    rule="No tool fits the request; the policy passes if it makes no call.",
    kind="irrelevance",
    cast=lambda example, draw: make_success_only_case(example),
    fewest_servers=2,  # a single server has no foreign tools
)
