"""Telling a webhook of an alert: what is sent, how it is signed, and what is made of the answer."""

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
from .ssrf import Refused, client

SECONDS, ALTOGETHER = 5.0, 15.0  # for each thing that is waited for, and for all of it
AGAIN = {408, 425, 429}  # beside 500 and above: answers after which one tries again
STATE = Delivery.State


class NotNow(Exception):
    """A delivery that failed in a way that may pass; the message says how."""


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def deliver(key: int, last: bool = False) -> None:
    """Send one delivery that waits, and keep what came of it. Raises NotNow when there is to be another try."""
    found = Delivery.objects.select_related(
        "webhook", "alert__rule", "alert__run", "alert__project__organisation"
    ).filter(pk=key, state=STATE.WAITING, webhook__removed_at=None)
    delivery = found.first()
    if delivery is None:
        return
    delivery.tries += 1
    delivery.tried_at = timezone.now()
    try:
        delivery.status = sent(delivery)
        delivery.error = ""
        again = delivery.status in AGAIN or delivery.status >= 500
        delivery.state = STATE.SENT if 200 <= delivery.status < 300 else STATE.WAITING if again else STATE.FAILED
        if 300 <= delivery.status < 400:
            delivery.error = "The endpoint redirects, which is not followed. Set the webhook to the target URL."
    except Refused as why:
        delivery.status, delivery.error, delivery.state = None, str(why)[:300], STATE.FAILED
    except (httpx2.HTTPError, OSError, RuntimeError, ValueError) as error:
        said = str(error) if isinstance(error, httpx2.ConnectError) else ""
        delivery.status, delivery.error = None, f"No response: {said or type(error).__name__}"[:300]
    if last and delivery.state == STATE.WAITING:
        delivery.state = STATE.FAILED
    delivery.save()
    if delivery.state == STATE.WAITING:
        raise NotNow(delivery.error or f"The endpoint returned {delivery.status}.")


def sent(delivery: Delivery) -> int:
    """Send it; the answer's status. Nothing of the answer's body is read. Raises Refused, httpx2.HTTPError, OSError."""
    hook = delivery.webhook
    body = json.dumps(content(delivery), ensure_ascii=False).encode()
    with client(SECONDS) as http:
        guard = Timer(ALTOGETHER, http.close)  # for one who answers a byte at a time
        guard.daemon = True
        guard.start()
        try:
            with http.stream("POST", hook.url, content=body, headers=headers(hook, delivery.pk, body)) as answer:
                return int(answer.status_code)
        finally:
            guard.cancel()


def headers(hook: Webhook, delivery: int, body: bytes) -> dict[str, str]:
    """The signature is HMAC-SHA256, with the secret, of the timestamp, a full stop and the body."""
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
    """What is told, in the webhook's format."""
    alert, hook = delivery.alert, delivery.webhook
    if alert is None:
        words = f"Test of the PROVE Studio webhook “{hook}”. Nothing is wrong."
        return {"text": plain(words)} if hook.format == Webhook.Format.SLACK else {"event": "test", "text": words}
    url = hook.origin + alert.get_absolute_url()
    at = f" at step {alert.step}" if alert.step else ""
    if hook.format == Webhook.Format.SLACK:
        return {"text": f"*{plain(alert.rule.name)}* in run {alert.run.number} “{plain(alert.run.name)}”{at}\n{url}"}
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


def plain(text: str) -> str:
    """Text in which a chat finds no mark-up and no mention."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
