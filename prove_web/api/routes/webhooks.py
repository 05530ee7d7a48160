"""API operations for webhooks, which receive a project's alerts; for owners only."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.utils import timezone
from ninja import Query, Router, Schema

from prove_web.accounts.roles import Action
from prove_web.alerts.forms import WebhookForm
from prove_web.alerts.models import Delivery, Webhook
from prove_web.alerts.webhook_views import create_webhook, one_hook, test

from ..errors import ApiError, ill_filled
from ..form_schemas import body_of, build_query_dict
from ..paging import Cursor, Key, Limit, Piece, by_key
from ..permissions import in_project
from ..schemas import StrictSchema, username
from .alerts import ALERTS

router = Router(tags=["Alerts"])
HOOKS = f"{ALERTS}/webhooks"
HOOK = HOOKS + "/{int:hook}"
Make = body_of(WebhookForm, "MakeWebhook")


class WebhookOut(Schema):
    """A webhook; its secret is only returned on creation."""

    id: int
    name: str
    url: str
    format: str
    enabled: bool
    by: str | None
    made_at: datetime
    removed_at: datetime | None

    @staticmethod
    def resolve_by(hook: Webhook) -> str | None:
        return username(hook.made_by)


class WebhookCreated(Schema):
    """`secret` signs the payload (HMAC-SHA256). It is only returned once."""

    webhook: WebhookOut
    secret: str


class WebhookSwitch(StrictSchema):
    enabled: bool


class WebhookRemoved(Schema):
    removed: int


class DeliveryOut(Schema):
    """One delivery of a webhook and its result; tests have no alert. `status` is the HTTP status."""

    id: int
    alert: int | None
    state: str
    tries: int
    made_at: datetime
    tried_at: datetime | None
    status: int | None
    error: str

    @staticmethod
    def resolve_alert(delivery: Delivery) -> int | None:
        return delivery.alert_id


@router.get(HOOKS, response=Piece[WebhookOut])
@in_project(Action.MANAGE)
def list_webhooks(
    request: Any,
    removed: Annotated[bool, Query(description="List the removed webhooks instead.")] = False,
    cursor: Cursor = "",
    limit: Limit = 50,
) -> Any:
    """List the webhooks of a project, newest first."""
    rows = Webhook.objects.filter(project=request.project, removed_at__isnull=not removed)
    return by_key(rows.select_related("made_by"), "pk", cursor, limit)


@router.post(HOOKS, response={201: WebhookCreated})
@in_project(Action.MANAGE)
def make_webhook(request: Any, body: Make) -> Any:  # type: ignore[valid-type]
    """Create a webhook that receives every alert. Nothing is sent yet; the secret is only in this response."""
    usual = {"format": Webhook.Format.JSON}
    form = WebhookForm(build_query_dict(usual | body.dict(exclude_none=True)))
    if not form.is_valid():
        raise ill_filled(form.errors)
    made = create_webhook(request, form)
    return {"webhook": made, "secret": made.secret}


@router.get(f"{HOOK}/deliveries", response=Piece[DeliveryOut])
@in_project(Action.MANAGE)
def list_deliveries(request: Any, hook: Key, cursor: Cursor = "", limit: Limit = 50) -> Any:
    """List a webhook's deliveries and their results, newest first."""
    return by_key(one_hook(request, hook).deliveries.all(), "pk", cursor, limit)


@router.post(f"{HOOK}/test", response={201: DeliveryOut})
@in_project(Action.MANAGE)
def test_webhook(request: Any, hook: Key) -> Any:
    """Send a test to a webhook; its result appears among the deliveries after a moment."""
    return test(get_webhook(request, hook))


@router.post(f"{HOOK}/switch", response=WebhookOut)
@in_project(Action.MANAGE)
def switch_webhook(request: Any, hook: Key, body: WebhookSwitch) -> Any:
    """Enable or disable a webhook."""
    found = get_webhook(request, hook)
    found.enabled = body.enabled
    found.save(update_fields=["enabled"])
    return found


@router.delete(HOOK, response=WebhookRemoved)
@in_project(Action.MANAGE)
def remove_webhook(request: Any, hook: Key) -> Any:
    """Remove a webhook; it can be restored."""
    found = one_hook(request, hook)
    if found.removed_at is None:
        found.removed_at = timezone.now()
        found.save(update_fields=["removed_at"])
    return {"removed": found.pk}


@router.post(f"{HOOK}/restore", response=WebhookOut)
@in_project(Action.MANAGE)
def restore_webhook(request: Any, hook: Key) -> Any:
    """Restore a removed webhook with its secret."""
    found = one_hook(request, hook)
    if found.removed_at is not None:
        found.removed_at = None
        found.save(update_fields=["removed_at"])
    return found


def get_webhook(request: Any, hook: int) -> Webhook:
    """Raises Http404, Refused."""
    found: Webhook = one_hook(request, hook)
    if found.removed_at is not None:
        raise ApiError(409, "This webhook was removed.", "hook", "Restore it first.")
    return found
