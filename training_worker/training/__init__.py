"""Training: GRPO, supervised and rejection-sampling fine-tuning, evaluation of a policy, and its export."""

from ..core import torch_environment  # noqa: F401
