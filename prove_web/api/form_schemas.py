"""API bodies derived from the forms of pages: the same fields, validated by the same code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.http import QueryDict
from ninja import Schema
from pydantic import ConfigDict, Field, create_model

LONGEST = 20_000  # characters of a text field


class FormBody(Schema):
    """The fields of a form; omitted fields have their default value."""

    model_config = ConfigDict(extra="forbid")


def body_of(
    form: type[forms.Form], called: str, /, *, without: tuple[str, ...] = (), optional: bool = False, **own: Any
) -> type[FormBody]:
    """Return a body with the fields of a form, each with its help text, and `own` ones that replace or extend them."""
    fields: dict[str, Any] = {
        field: build_field(each, optional or not each.required or each.initial is not None)
        for field, each in form.base_fields.items()
        if field not in (*without, *own)
    }
    return cast(type[FormBody], create_model(called, __base__=FormBody, **fields, **own))


def build_field(field: forms.Field, optional: bool) -> tuple[Any, Any]:
    """Return a form's field as a property of a body."""
    kind = kind_of(field)
    text = str(field.help_text or field.label or "")
    return (kind | None, Field(None, description=text)) if optional else (kind, Field(..., description=text))


def kind_of(field: forms.Field) -> Any:
    if isinstance(field, forms.BooleanField):
        return bool
    if isinstance(field, forms.FloatField):
        return float | int
    if isinstance(field, forms.IntegerField):
        return int
    if isinstance(field, forms.MultipleChoiceField | forms.ModelMultipleChoiceField):
        return list[str | int]
    return str


def build_query_dict(values: Mapping[str, Any]) -> QueryDict:
    """Return the data as a browser would send it."""
    query = QueryDict(mutable=True)
    for name, value in values.items():
        if isinstance(value, list | tuple):
            query.setlist(name, [str(each) for each in value])
        elif value is not None:
            query[name] = str(value)
    return query
