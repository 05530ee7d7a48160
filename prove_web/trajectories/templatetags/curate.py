"""Template filters for numbers of dataset versions."""

from __future__ import annotations

from django import template

register = template.Library()


@register.filter
def difference(counts: tuple[int, int]) -> str:
    """Return the signed difference of the second count from the first."""
    return f"{counts[1] - counts[0]:+,}".replace("-", "\u2212")
