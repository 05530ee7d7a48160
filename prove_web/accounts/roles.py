"""Roles, and the lowest role for each kind of action."""

from __future__ import annotations

from django.db import models


class Role(models.TextChoices):
    """Roles in ascending order; each has all permissions of the previous one."""

    VIEWER = "viewer", "Viewer"
    ANNOTATOR = "annotator", "Annotator"
    MAINTAINER = "maintainer", "Maintainer"
    OWNER = "owner", "Owner"

    def covers(self, action: Action) -> bool:
        order = list(Role)
        return order.index(self) >= order.index(LEAST[action])


class Action(models.TextChoices):
    """Kind of action of a page, call or socket."""

    VIEW = "view", "see everything in the team's projects"
    ANNOTATE = "annotate", "open sessions, call tools, label trajectories"
    LAUNCH = "launch", "create datasets; launch, stop and resume runs"
    MANAGE = "manage", "add and remove members, create projects"


LEAST = {
    Action.VIEW: Role.VIEWER,
    Action.ANNOTATE: Role.ANNOTATOR,
    Action.LAUNCH: Role.MAINTAINER,
    Action.MANAGE: Role.OWNER,
}

# The actions as subjects of a sentence, for the error if a role is too low.
ACTIVITIES = {
    Action.VIEW: "Viewing this page",
    Action.ANNOTATE: "Calling tools or annotating",
    Action.LAUNCH: "Launching runs or managing datasets",
    Action.MANAGE: "Managing members or projects",
}
