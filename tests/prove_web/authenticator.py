"""Codes of an authenticator app."""

from __future__ import annotations

from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time


def code(secret: str) -> str:
    """Return the code that an authenticator app displays now (RFC 6238)."""
    return format_hotp_value(hotp_value(secret, next(iter(yield_hotp_counters_from_time()))))


def wrong(secret: str) -> str:
    """Return six digits that are not a valid code now."""
    near = {format_hotp_value(hotp_value(secret, each)) for each in yield_hotp_counters_from_time()}
    return next(text for text in ("000000", "111111", "222222", "333333") if text not in near)
