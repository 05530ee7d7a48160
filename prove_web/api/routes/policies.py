"""API operation for the values of `policy` in launches of runs and evaluations."""

from __future__ import annotations

from typing import Any

from ninja import Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.evaluations.policies import choices
from prove_web.experiments.initial_policy import flatten_choices, policy_choices

from ..permissions import in_project

router = Router(tags=["Runs"])


class PolicyOut(Schema):
    """A policy, identified by the value that `policy` takes."""

    policy: str
    title: str
    group: str = Field(description="Group of the policy; empty if it has none.")
    trains: bool = Field(description="Whether a run can start from it.")
    evaluates: bool = Field(description="Whether it can be evaluated.")


@router.get("/{slug:organisation}/{slug:project}/policies", response=list[PolicyOut])
@in_project(Action.VIEW)
def list_policies(request: Any) -> Any:
    """List the policies that a run of this project can start from, and those that can be evaluated."""
    train = {name for name, _ in flatten_choices(policy_choices(request.project))}
    return [
        {"policy": name, "title": title, "group": group, "trains": name in train, "evaluates": True}
        for group, inner in group_choices(choices(request.project))
        for name, title in inner
    ]


def group_choices(found: list[tuple[str, Any]]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Each group with its choices; a choice outside any group is in the group without a name."""
    return [(name, inner) if isinstance(inner, list) else ("", [(name, inner)]) for name, inner in found]
