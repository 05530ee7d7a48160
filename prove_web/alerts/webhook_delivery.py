"""Webhook deliveries: payload, signature, and handling of the response."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from threading import Timer
from typing import Any

import httpx2
from django.utils import timezone

from .models import Delivery, Webhook
from .ssrf import UrlRefusedError, client

SECONDS, ALTOGETHER = 5.0, 15.0  # timeout per I/O operation and in total, in seconds
AGAIN = {408, 425, 429}  # status codes that are retried, besides 500 and above
STATE = Delivery.State


class NotNow(Exception):
    """Error for a delivery that failed temporarily; the message says how."""


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def deliver(key: int, last: bool = False) -> None:
    """Send a waiting delivery and store the result. Raises NotNow if it should be retried."""
    found = Delivery.objects.select_related(
        "webhook", "alert__rule", "alert__run", "alert__project__organisation"
    ).filter(pk=key, state=STATE.WAITING, webhook__removed_at=None)
    delivery = found.first()
    if delivery is None:
        return
    delivery.tries += 1
    delivery.tried_at = timezone.now()
    try:
        delivery.status = post_delivery(delivery)
        delivery.error = ""
        again = delivery.status in AGAIN or delivery.status >= 500
        delivery.state = STATE.SENT if 200 <= delivery.status < 300 else STATE.WAITING if again else STATE.FAILED
        if 300 <= delivery.status < 400:
            delivery.error = "The endpoint redirects, which is not followed. Set the webhook to the target URL."
    except UrlRefusedError as why:
        delivery.status, delivery.error, delivery.state = None, str(why)[:300], STATE.FAILED
    except (httpx2.HTTPError, OSError, RuntimeError, ValueError) as error:
        said = str(error) if isinstance(error, httpx2.ConnectError) else ""
        delivery.status, delivery.error = None, f"No response: {said or type(error).__name__}"[:300]
    if last and delivery.state == STATE.WAITING:
        delivery.state = STATE.FAILED
    delivery.save()
    if delivery.state == STATE.WAITING:
        raise NotNow(delivery.error or f"The endpoint returned {delivery.status}.")


def post_delivery(delivery: Delivery) -> int:
    """Send a request and return the status code; the response body is not read.

    Raises UrlRefusedError, httpx2.HTTPError, OSError.
    """
    hook = delivery.webhook
    body = json.dumps(content(delivery), ensure_ascii=False).encode()
    with client(SECONDS) as http:
        guard = Timer(ALTOGETHER, http.close)  # for servers that respond one byte at a time
        guard.daemon = True
        guard.start()
        try:
            with http.stream("POST", hook.url, content=body, headers=headers(hook, delivery.pk, body)) as answer:
                return int(answer.status_code)
        finally:
            guard.cancel()


def headers(hook: Webhook, delivery: int, body: bytes) -> dict[str, str]:
    """Return the headers; the signature is HMAC-SHA256 with the secret over timestamp, full stop and body."""
    at = str(int(time.time()))
    return {
        "Content-Type": "application/json",
        "User-Agent": "prove-studio",
        "X-Prove-Delivery": str(delivery),
        "X-Prove-Timestamp": at,
        "X-Prove-Signature": f"sha256={signature(hook.secret, at, body)}",
    }


def signature(secret: str, at: str, body: bytes) -> str:
    return hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()


def content(delivery: Delivery) -> dict[str, Any]:
    """Return the payload in the webhook's format."""
    alert, hook = delivery.alert, delivery.webhook
    if alert is None:
        words = f"Test of the PROVE Studio webhook “{hook}”. Nothing is wrong."
        return (
            {"text": escape_chat_markup(words)}
            if hook.format == Webhook.Format.SLACK
            else {"event": "test", "text": words}
        )
    url = hook.origin + alert.get_absolute_url()
    at = f" at step {alert.step}" if alert.step else ""
    if hook.format == Webhook.Format.SLACK:
        rule, run = escape_chat_markup(alert.rule.name), escape_chat_markup(alert.run.name)
        return {"text": f"*{rule}* in run {alert.run.number} “{run}”{at}\n{url}"}
    return {
        "event": "alert",
        "alert": alert.pk,
        "organisation": alert.project.organisation.slug,
        "project": alert.project.slug,
        "rule": alert.rule.name,
        "metric": alert.rule.metric,
        "run": {"number": alert.run.number, "name": alert.run.name},
        "step": alert.step,
        "value": alert.value,
        "threshold": alert.threshold,
        "url": url,
    }


def escape_chat_markup(text: str) -> str:
    """Escape text so that a chat client sees no markup or mentions."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
