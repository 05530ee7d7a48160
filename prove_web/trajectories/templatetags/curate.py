"""What templates about versions show of numbers."""

from __future__ import annotations

from django import template

register = template.Library()


@register.filter
def difference(counts: tuple[int, int]) -> str:
    """How much the second is more than the first, with its sign."""
    return f"{counts[1] - counts[0]:+,}".replace("-", "\u2212")
