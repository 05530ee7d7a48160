"""Rollouts of a policy as tokens: generation backends and the engine that runs many episodes on one of them."""

from ..core import torch_environment  # noqa: F401
