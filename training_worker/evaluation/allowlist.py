"""Allowlist of what a browser user may make a worker reach: the operator's endpoints, and no folder by its path.

A worker that called any address or read any folder that a user names would expose its own network and disk.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

ENDPOINTS = "PROVE_EVALUATE_ENDPOINTS"  # addresses up to and including /v1, separated by spaces or commas
OWN = "PROVE_LLM_URL"
URL = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*://")  # a value that begins like this is an address


def leads_out(value: str) -> bool:
    """Return whether a text, read as a path, is absolute or leaves its folder."""
    path = Path(value.strip())
    return path.is_absolute() or value.strip().startswith("~") or ".." in path.parts


def endpoints(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the allowed endpoints, the site's own first if it has one."""
    listed = re.split(r"[\s,]+", environment.get(ENDPOINTS, ""))
    return tuple(dict.fromkeys(url for url in (environment.get(OWN, ""), *listed) if url))
