"""The only package that imports torch, transformers and trl: the tiny policy, its warm-up, GRPO and evaluation.

The environment is set before torch is imported: idle OpenMP threads sleep instead of spinning, and nothing is downloaded.
"""

import os

for name, value in {
    "OMP_WAIT_POLICY": "PASSIVE",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TRL_EXPERIMENTAL_SILENCE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}.items():
    os.environ.setdefault(name, value)
