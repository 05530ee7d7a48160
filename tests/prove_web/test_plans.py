"""PostgreSQL lists trajectories from an index and reads no large column. test_on_postgresql.py runs this test there."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.db import connection

from prove_web.accounts.models import Project
from prove_web.trajectories.paging import SORTS, Order
from prove_web.trajectories.search import search

from .examples import dataset_of

pytestmark = [
    pytest.mark.skipif("postgres" not in settings.DATABASES["default"]["ENGINE"], reason="of PostgreSQL's planner"),
    pytest.mark.django_db,
]
QUERIES = ("", "coverage<1", "tool:list_* -server:email", "steps>3 reward<0.5 OR status:error", "has:rollout")


@pytest.mark.parametrize("query", QUERIES)
def test_a_list_of_trajectories_is_found_without_reading_a_record(project: Project, query: str) -> None:
    dataset_of(project)
    with connection.cursor() as cursor:
        for way in ("seqscan", "indexscan", "bitmapscan"):  # the planner prefers these for few rows
            cursor.execute(f"SET LOCAL enable_{way} = off")
    rows = search(project, query).rows
    for sort in SORTS:
        plan = Order(sort).sort_rows(rows).values_list("pk")[:51].explain()
        assert "Index Only Scan using trajectory_listed" in plan, plan
