"""Experiments: train, then compare: the pipeline, proof, ablations, evaluations and GPU runs."""

from ..core import torch_environment  # noqa: F401
