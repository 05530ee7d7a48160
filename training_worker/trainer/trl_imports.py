"""What is used of TRL's training, imported without the trackers of others.

TRL imports Weights & Biases and MLflow wherever they are installed, and they are a third of the time in which a job
starts; no run of ours reports to them. MLflow is left out by its variable (see __init__.py), W&B by what TRL asks.
"""

# ruff: noqa: E402 - TRL asks while it is imported

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
