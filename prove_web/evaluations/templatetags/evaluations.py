"""Template filters of evaluation pages; `{% load evaluations %}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

register = template.Library()

SMALL = 0.001


@register.filter
def p_value(p: float) -> str:
    """Format a p-value as `= 0.012`, or `< 0.001` below that."""
    return f"< {SMALL}" if p < SMALL else f"= {p:.3f}"


@register.filter
def of(found: Mapping[str, Any], key: str) -> Any:
    """Return the value of a key; None if missing."""
    return found.get(key)
