"""Every metric of a training step in one table, from which pages and documents say what it is and what is healthy."""

from .held_out import HELD_OUT
from .lengths import LENGTHS
from .machine import MACHINE
from .metric import Group, Metric, Unit
from .policy import POLICY
from .reward import COMPONENTS, REWARD
from .rollouts import ROLLOUTS
from .terms import TERMS
from .time import TIME

__all__ = ["BY_NAME", "HELD_OUT", "METRICS", "TERMS", "TOOLS", "Group", "Metric", "Unit", "in_words", "table"]

METRICS: tuple[Metric, ...] = (*REWARD, *COMPONENTS, *TERMS, *POLICY, *ROLLOUTS, *LENGTHS, *TIME, *MACHINE)
BY_NAME = {metric.name: metric for metric in (*METRICS, *HELD_OUT)}
TOOLS = "tools"  # beside the metrics of a step: per tool name its calls and how many of them failed


def in_words(unit: Unit) -> str:
    """A unit as a table tells it; a pure number has none."""
    return "" if unit == "number" else unit


def table() -> str:
    """The metrics as a table in Markdown."""
    head = ["| metric | group | unit | formula | healthy |", "| --- | --- | --- | --- | --- |"]
    rows = [
        f"| `{one.name}` | {one.group.lower()} | {in_words(one.unit)} | {one.formula} | {one.healthy} |"
        for one in (*METRICS, *HELD_OUT)
    ]
    return "\n".join([*head, *rows])
