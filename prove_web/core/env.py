"""Settings from environment variables; an invalid value stops the start with an error that names it."""

import os

from django.core.exceptions import ImproperlyConfigured

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})


def envstr(name: str, default: str) -> str:
    """Return the variable's text; unset and empty both mean the default."""
    return os.environ.get(name) or default


def envbool(name: str, default: bool) -> bool:
    """Return whether it is one of 1, true, yes, on, or of 0, false, no, off, in any case."""
    value = envstr(name, str(default)).lower()
    if value not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name}={os.environ[name]!r} is neither true nor false: set it to 1 or 0")
    return value in TRUE


def envint(name: str, default: int) -> int:
    """Return a whole number."""
    value = envstr(name, str(default))
    try:
        return int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={value!r} is not a whole number") from None


def envset(name: str, known: set[str]) -> frozenset[str]:
    """Return the comma-separated words, which must all be known; none by default."""
    words = frozenset(filter(None, (word.strip() for word in envstr(name, "").lower().split(","))))
    if strange := sorted(words - known):
        raise ImproperlyConfigured(f"{name}={strange[0]!r} is unknown; allowed values: {', '.join(sorted(known))}")
    return words
