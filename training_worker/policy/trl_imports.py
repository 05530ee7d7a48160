"""TRL's training classes, imported without third-party trackers.

TRL imports Weights & Biases and MLflow wherever they are installed, and they take a third of a job's start-up time; our
runs do not report to them. An environment variable leaves MLflow out (see __init__.py), and W&B is left out through the
function with which TRL looks for it.
"""

# ruff: noqa: E402 - TRL looks for the trackers while it is imported

import accelerate.utils
import transformers
from transformers.integrations import integration_utils


def is_not_available() -> bool:
    return False


for library in (accelerate.utils, transformers, transformers.integrations, integration_utils):
    vars(library)["is_wandb_available"] = is_not_available

from trl.generation import vllm_generation
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

__all__ = ["GRPOConfig", "GRPOTrainer", "SFTConfig", "SFTTrainer", "vllm_generation"]
