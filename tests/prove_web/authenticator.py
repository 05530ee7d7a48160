"""What an authenticator app shows."""

from __future__ import annotations

from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time


def code(secret: str) -> str:
    """What an authenticator app shows now (RFC 6238)."""
    return format_hotp_value(hotp_value(secret, next(iter(yield_hotp_counters_from_time()))))


def wrong(secret: str) -> str:
    """Six digits that are no code of these minutes."""
    near = {format_hotp_value(hotp_value(secret, each)) for each in yield_hotp_counters_from_time()}
    return next(text for text in ("000000", "111111", "222222", "333333") if text not in near)
