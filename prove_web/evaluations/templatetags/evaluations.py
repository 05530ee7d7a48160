"""How the pages of evaluations write numbers; `{% load evaluations %}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

register = template.Library()

SMALL = 0.001


@register.filter
def p_value(p: float) -> str:
    """`= 0.012`; what is smaller than a thousandth only says so."""
    return f"< {SMALL}" if p < SMALL else f"= {p:.3f}"


@register.filter
def of(found: Mapping[str, Any], key: str) -> Any:
    """What a mapping has under a name; None where it has nothing."""
    return found.get(key)
