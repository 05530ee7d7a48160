"""Tests of the trainer, whose package sets the environment that torch reads when it is imported.

Without it the idle threads of torch spin, which costs several times the processor time of the tests themselves.
"""

import training_worker.trainer  # noqa: F401
