"""All metrics of a training step in one table, with formulas and healthy values, for pages and documentation."""

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
TOOLS = "tools"  # key next to a step's metrics: calls and failed calls by tool name


def in_words(unit: Unit) -> str:
    """Return the unit as shown in a table; "" for a plain number."""
    return "" if unit == "number" else unit


def table() -> str:
    """Return the metrics as a Markdown table."""
    head = ["| metric | group | unit | formula | healthy |", "| --- | --- | --- | --- | --- |"]
    rows = [
        f"| `{one.name}` | {one.group.lower()} | {in_words(one.unit)} | {one.formula} | {one.healthy} |"
        for one in (*METRICS, *HELD_OUT)
    ]
    return "\n".join([*head, *rows])
