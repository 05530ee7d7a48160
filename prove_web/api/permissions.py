"""Permission rules of API operations: those of the pages, and the scope of a token.

Write `@in_project(Action.VIEW)` below the route. Clients without permission are rejected before their input is read;
the view gets `request.project`, and the two names in the URL are added to the operation's signature here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from ninja import Path
from ninja.utils import contribute_operation_callback

from prove_web.accounts import permissions
from prove_web.accounts.roles import Action

from .auth import Guard, build_authenticators
from .models import ApiToken
from .paging import Description

View = Callable[..., Any]
NAMES = {"organisation": "The team's name in URLs.", "project": "The project's name in URLs."}


def in_project(action: Action) -> Callable[[View], View]:
    """Guard an operation in one project: 404 for strangers, 403 for too low a role or a missing scope."""
    guarded = permissions.in_project(action)(build_scope_check(action))
    return build_guard_decorator(guarded, f"project: {action.value}", ("organisation", "project"))


def in_organisation(action: Action) -> Callable[[View], View]:
    """Guard an operation in one organisation; tokens of a single project do not reach it."""
    guarded = permissions.in_organisation(action)(build_scope_check(action))
    return build_guard_decorator(guarded, f"organisation: {action.value}", ("organisation",))


def signed_in(view: View) -> View:
    """Mark an operation as one about the client, and what the client may see."""
    view.rule = "signed in"
    return view


def build_guard_decorator(guarded: View, rule: str, names: tuple[str, ...]) -> Callable[[View], View]:
    def guard(request: Any) -> None:
        named = {name: request.resolver_match.kwargs[name] for name in names}
        reaches(request.auth, named)
        guarded(request, **named)

    def decorate(view: View) -> View:
        @wraps(view)
        def operation(request: Any, **rest: Any) -> Any:
            return view(request, **{name: value for name, value in rest.items() if name not in names})

        operation.__signature__ = with_names(view, names)
        operation.rule = rule
        contribute_operation_callback(operation, lambda made: let(made, guard))
        return operation

    return decorate


def let(operation: Any, guard: Guard) -> None:
    """Put an operation under a guard, as Ninja does with its parameter `auth`."""
    operation.auth_param = build_authenticators(guard)
    operation._set_auth(operation.auth_param)


def with_names(view: View, names: tuple[str, ...]) -> inspect.Signature:
    """Return the view's signature with the names in the URL after the request."""
    mine = inspect.signature(view, eval_str=True)
    request, *rest = mine.parameters.values()
    keyword = inspect.Parameter.KEYWORD_ONLY
    known = [
        inspect.Parameter(name, keyword, annotation=Annotated[str, Description(NAMES[name])], default=Path(...))
        for name in names
    ]
    return mine.replace(parameters=[request, *known, *(each.replace(kind=keyword) for each in rest)])


def build_scope_check(action: Action) -> View:
    """Return a check whether the token has the scope; a session may do whatever its user may."""

    def check(request: Any) -> HttpResponse:
        token = request.auth
        if isinstance(token, ApiToken) and not token.covers(action):
            raise PermissionDenied(f"The token “{token}” lacks the scope “{action.value}”: {action.label}.")
        return HttpResponse()

    return check


def reaches(token: Any, names: Mapping[str, str]) -> None:
    """Raise Http404 for an organisation or project other than the token's, whatever its user may do there."""
    if not isinstance(token, ApiToken):
        return
    if names["organisation"] != token.organisation.slug:
        raise Http404
    if token.project and names.get("project") != token.project.slug:
        raise Http404
