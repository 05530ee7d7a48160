"""What the small policy that comes with the product was trained on, and what data for it is made of."""

from __future__ import annotations

SERVERS = ("banking", "calendar", "email")
