"""The audit of a model folder: checks, with evidence, that conversations become the ids its chat template means."""

from ..core import torch_environment  # noqa: F401
from .checks import Assembly, Check, Verdict, audit
from .folder import audit_folder

__all__ = ["Assembly", "Check", "Verdict", "audit", "audit_folder"]
