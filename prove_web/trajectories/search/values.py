"""Values that complete a query field."""

from __future__ import annotations

from mcp_servers.catalogue import SERVERS, TOOLS
from prove_web.accounts.models import Project
from prove_web.query_language.values import MOST, Values, numbers, people, provide_fixed_values
from prove_web.review.models import Queue
from prove_web.review.schema import VERDICTS, BadSchema, read_schema
from training_worker.dataflow.templates import PERSONAS
from training_worker.reward.prove_reward import COMPONENTS

from .. import choices
from .review_fields import HAS

KNOBS = ("distractors", "enums_stripped", "irrelevance", "missing_function")
ENDS = ("answered", "assistant_turns", "calls", "tokens", "infrastructure")
STATUSES = ("ok", "error")


def labels(project: Project) -> list[str]:
    """Return the verdicts, and the choices in the project's queues."""
    found = dict.fromkeys(VERDICTS)
    for schema in Queue.objects.filter(project=project).values_list("schema", flat=True)[:MOST]:
        try:
            found |= dict.fromkeys(choice for one in read_schema(schema).questions for choice in one.choices)
        except BadSchema:
            continue
    return list(found)


VALUES: dict[str, Values] = {
    "tool": provide_fixed_values(TOOLS),
    "server": provide_fixed_values(SERVERS),
    "split": provide_fixed_values(name for name, _ in choices.SPLITS),
    "kind": provide_fixed_values(name for name, _ in choices.KINDS),
    "level": provide_fixed_values(name for name, _ in choices.LEVELS),
    "persona": provide_fixed_values(PERSONAS),
    "knob": provide_fixed_values(KNOBS),
    "feature": provide_fixed_values(name for name, _ in choices.FEATURES),
    "status": provide_fixed_values(STATUSES),
    "end": provide_fixed_values(ENDS),
    "component": provide_fixed_values(f"{name}<1" for name in COMPONENTS),
    "has": provide_fixed_values(HAS),
    "label": labels,
    "reviewer": people,
    "queue": numbers("queues"),
    "dataset": numbers("datasets"),
    "run": numbers("runs"),
}
