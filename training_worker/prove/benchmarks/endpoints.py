"""The endpoints that a person at the browser may have asked: the site's own, and those that its operator lists.

A worker that called any address it was told would reach whatever stands beside it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

ENDPOINTS = "PROVE_EVALUATE_ENDPOINTS"  # addresses up to and with /v1, separated by spaces or commas
OWN = "PROVE_LLM_URL"
URL = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*://")  # what begins like this is an address


def endpoints(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The site's own endpoint first, where it has one."""
    listed = re.split(r"[\s,]+", environment.get(ENDPOINTS, ""))
    return tuple(dict.fromkeys(url for url in (environment.get(OWN, ""), *listed) if url))
