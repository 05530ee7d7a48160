"""Template tags that check whether a source of a dataset or trajectory still exists; `{% load existence %}`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import template

from prove_web.accounts.models import Project

register = template.Library()


@register.simple_tag
def run_exists(project: Project, number: Any) -> bool:
    """Return whether a run of this number exists."""
    return isinstance(number, int) and project.runs.filter(number=number).exists()


@register.simple_tag
def existing_datasets(project: Project, mix: Iterable[Any]) -> set[int]:
    """Return the numbers of the datasets of a mix that exist."""
    numbers = [number for number, *_ in mix if isinstance(number, int)]
    return set(project.datasets.filter(number__in=numbers).values_list("number", flat=True))
