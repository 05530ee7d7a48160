"""Abstention: no tool has to do with what is asked. Passes who makes no call at all."""

from __future__ import annotations

from .case import Behaviour, plain

ABSTENTION = Behaviour(
    name="abstention",
    rule="No tool has to do with what is asked; passes who makes no call at all.",
    kind="irrelevance",
    cast=lambda example, draw: plain(example),
    fewest_servers=2,  # to the tools of one server none is foreign
)
