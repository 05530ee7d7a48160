"""Webhook pages of a project for its owners: add, test, enable, disable, and the delivery log."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project

from .forms import WebhookForm
from .models import Delivery, Webhook
from .notifications import send
from .webhook_delivery import new_secret

PER_PAGE, REMOVED = 25, 10


@in_project(Action.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def webhooks(request: ProjectRequest) -> HttpResponse:
    """Show the webhooks or add one; the response to adding shows the secret once."""
    form = WebhookForm(request.POST if request.method == "POST" else None)
    fresh = None
    if form.is_bound and form.is_valid():
        fresh = create_webhook(request, form)
        form = WebhookForm()
    mine = Webhook.objects.filter(project=request.project).select_related("made_by")
    context = {
        "form": form,
        "fresh": fresh,
        "hooks": mine.filter(removed_at=None),
        "removed": mine.exclude(removed_at=None).order_by("-removed_at")[:REMOVED],
    }
    return render(request, "alerts/webhooks.html", context, status=422 if form.is_bound else 200)


def create_webhook(request: ProjectRequest, form: WebhookForm) -> Webhook:
    """Create the webhook of a valid form with a new secret."""
    form.instance.project, form.instance.made_by = request.project, request.user
    form.instance.secret, form.instance.origin = new_secret(), request.build_absolute_uri("/")[:200].rstrip("/")
    made: Webhook = form.save()
    return made


def test(hook: Webhook) -> Delivery:
    """Queue a test delivery."""
    made: Delivery = Delivery.objects.create(webhook=hook)
    send(made.pk)
    return made


@in_project(Action.MANAGE)
@require_safe
def webhook(request: ProjectRequest, hook: int) -> HttpResponse:
    """Show one webhook with all its deliveries."""
    found = one_hook(request, hook)
    if found.removed_at is not None:
        raise Http404
    rows = found.deliveries.select_related("alert__rule", "alert__run", "alert__project__organisation")
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "alerts/webhook.html", {"hook": found, "page": page})


@in_project(Action.MANAGE)
@require_POST
def webhook_change(request: ProjectRequest, hook: int) -> HttpResponse:
    """Send a test, enable, disable, remove or restore a webhook."""
    found = one_hook(request, hook)
    match request.POST.get("do"):
        case "test":
            test(found)
            messages.success(request, "Test queued. Its result appears below.")
            return redirect("webhook", *request.project.path, found.pk)
        case "on" | "off" as way:
            found.enabled = way == "on"
            found.save(update_fields=["enabled"])
            messages.success(request, f"“{found}” is {'enabled' if found.enabled else 'disabled'}.")
            return redirect("webhook", *request.project.path, found.pk)
        case "remove":
            found.removed_at = timezone.now()
            found.save(update_fields=["removed_at"])
            messages.success(request, f"“{found}” removed. You can restore it below.")
        case "restore":
            found.removed_at = None
            found.save(update_fields=["removed_at"])
            messages.success(request, f"“{found}” restored.")
        case _:
            return HttpResponseBadRequest("Choose what to do: test, on, off, remove or restore.")
    return redirect("webhooks", *request.project.path)


def one_hook(request: ProjectRequest, key: int) -> Webhook:
    found: Webhook = get_object_or_404(Webhook, project=request.project, pk=key)
    return found
