"""The only package that imports torch, transformers and trl: the tiny policy, its warm-up, GRPO and evaluation.

Environment variables are set before torch is imported: idle OpenMP threads sleep instead of spinning, nothing is
downloaded, and library messages stay out of a run's progress output.
"""

import os

for name, value in {
    "OMP_WAIT_POLICY": "PASSIVE",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TRL_EXPERIMENTAL_SILENCE": "1",
    "DISABLE_MLFLOW_INTEGRATION": "TRUE",
    "TOKENIZERS_PARALLELISM": "false",
}.items():
    os.environ.setdefault(name, value)
