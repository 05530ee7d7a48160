"""The identity of a run, which a resumed run must match."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..config.grpo import GRPORun
from ..config.sft import SupervisedRun
from ..core.trajectory import file_digest
from ..policy.models import weights_digest

# settings that a resumed run may change
MAY_CHANGE = {"max_steps", "minutes", "checkpoint_every", "threads", "patience", "keep_tokens"}
PLACES = {"out", "policy", "data"}


def identity(config: GRPORun | SupervisedRun) -> dict[str, Any]:
    """Return what identifies a run: its configuration, and the digests of the data and policy it starts from."""
    kind = {"kind": "sft"} if isinstance(config, SupervisedRun) else {}
    settings = {name: value for name, value in asdict(config).items() if name not in MAY_CHANGE | PLACES}
    return {**kind, **settings, "data": file_digest(config.data), "policy": weights_digest(config.policy)}
