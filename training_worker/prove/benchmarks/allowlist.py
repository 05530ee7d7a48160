"""What a person at the browser may have a worker reach: endpoints that the operator lists, and no folder by its path.

A worker that called any address or read any folder it was told would reach whatever stands beside it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

ENDPOINTS = "PROVE_EVALUATE_ENDPOINTS"  # addresses up to and with /v1, separated by spaces or commas
OWN = "PROVE_LLM_URL"
URL = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*://")  # what begins like this is an address


def leads_out(value: str) -> bool:
    """Whether a text, taken for a path, is absolute or climbs."""
    path = Path(value.strip())
    return path.is_absolute() or value.strip().startswith("~") or ".." in path.parts


def endpoints(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The site's own endpoint first, where it has one."""
    listed = re.split(r"[\s,]+", environment.get(ENDPOINTS, ""))
    return tuple(dict.fromkeys(url for url in (environment.get(OWN, ""), *listed) if url))
