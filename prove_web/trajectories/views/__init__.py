"""Pages about data sets and trajectories; a file for each."""

from .dataset import dataset
from .dataset_new import dataset_forecast, dataset_new
from .datasets import datasets
from .sample import dataset_sample
from .trajectories import trajectories, trajectory_completion, trajectory_view, trajectory_views
from .trajectory import trajectory

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
