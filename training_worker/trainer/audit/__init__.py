"""Whether conversations of a model folder become the ids that its chat template means: checks, each with evidence."""

from .checks import Assembly, Check, Verdict, audit
from .folder import audit_folder

__all__ = ["Assembly", "Check", "Verdict", "audit", "audit_folder"]
