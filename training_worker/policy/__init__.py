"""The policy: weights, tokenizer, chat template, and the forward passes of small models."""

from ..core import torch_environment  # noqa: F401
