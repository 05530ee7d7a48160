"""The rules that there are ready-made, by key, and the patterns that some of them watch."""

from .of_rollouts import HACKING, ROLLOUTS
from .of_runs import LEARNING, OF_RUN
from .preset import Preset

__all__ = ["PATTERNS", "PRESETS", "Preset"]

PRESETS = {one.key: one for one in (*OF_RUN, *LEARNING, *ROLLOUTS, *HACKING)}
PATTERNS = {one.metric.removeprefix("patterns."): one.title for one in HACKING}
