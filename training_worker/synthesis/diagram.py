"""Diagram of the state machine: `python -m training_worker.synthesis.diagram` writes it into its page."""

from __future__ import annotations

import re
from pathlib import Path

from .state_machine import GROUPS, TRANSITIONS, State

PAGE = Path(__file__).parents[2] / "docs" / "conversations.md"
DRAWN = re.compile(r"(?<=<!-- states: begin -->\n).*(?=<!-- states: end -->)", re.S)


def mermaid() -> str:
    """Return the groups with their states and all transitions as a Mermaid diagram, which GitHub renders."""
    lines = ["```mermaid", "stateDiagram-v2", "    direction LR"]
    for group, states in GROUPS.items():
        lines.append(f'    state "{group}" as {group.replace(" ", "_")} {{')
        lines += [f"        {state}" for state in states]
        lines.append("    }")
    lines += [f"    [*] --> {state}" for state in GROUPS["query"]]
    lines += [f"    {before} --> {after}" for before, afters in TRANSITIONS.items() for after in afters]
    return "\n".join([*lines, f"    {State.ENDED} --> [*]", "```", ""])


def replace_diagram(page: str) -> str:
    """Return the page with the current diagram."""
    return DRAWN.sub(lambda _: mermaid(), page)


if __name__ == "__main__":
    PAGE.write_text(replace_diagram(PAGE.read_text("utf-8")), "utf-8")
