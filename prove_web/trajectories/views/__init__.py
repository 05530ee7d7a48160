"""Pages of datasets and trajectories."""

from .datasets import dataset, dataset_forecast, dataset_new, datasets
from .trajectories import (
    dataset_sample,
    trajectories,
    trajectory,
    trajectory_completion,
    trajectory_view,
    trajectory_views,
)

__all__ = [
    "dataset",
    "dataset_forecast",
    "dataset_new",
    "dataset_sample",
    "datasets",
    "trajectories",
    "trajectory",
    "trajectory_completion",
    "trajectory_view",
    "trajectory_views",
]
