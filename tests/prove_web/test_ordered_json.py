"""JSON comes back with its keys in the order in which they were written, on either database."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prove_web.accounts.models import Organisation
from prove_web.servers.models import SavedCall

pytestmark = pytest.mark.django_db
WORDS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=6)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS
ARGUMENTS = st.dictionaries(
    WORDS,
    st.recursive(PLAIN, lambda some: st.lists(some, max_size=3) | st.dictionaries(WORDS, some, max_size=3)),
    max_size=5,
)


def saved_call(organisation: Organisation, name: str, arguments: Any) -> SavedCall:
    return SavedCall(organisation=organisation, name=name, tool="get_account", arguments=arguments)


@pytest.mark.long
@given(st.lists(ARGUMENTS, min_size=2, max_size=3))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_keys_keep_their_order_however_they_are_written(
    organisation: Organisation, values: list[dict[str, Any]]
) -> None:
    """The order holds for single writes, bulk writes (another statement), updates and reads through a key."""
    SavedCall.objects.all().delete()
    SavedCall.objects.bulk_create(saved_call(organisation, str(i), one) for i, one in enumerate(values))
    saved_call(organisation, "alone", values[0]).save()
    saved_call(organisation, "changed", {}).save()
    SavedCall.objects.filter(name="changed").update(arguments={"b": values[1], "a": 1})
    rows = dict(SavedCall.objects.values_list("name", "arguments"))
    assert [json.dumps(rows[str(i)]) for i in range(len(values))] == [json.dumps(one) for one in values]
    assert json.dumps(rows["alone"]) == json.dumps(values[0])
    assert json.dumps(rows["changed"]) == json.dumps({"b": values[1], "a": 1})
    inner = SavedCall.objects.values_list("arguments__b", flat=True).get(name="changed")
    assert json.dumps(inner) == json.dumps(values[1])
