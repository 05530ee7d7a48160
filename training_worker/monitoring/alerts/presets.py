"""All preset alert rules by key, and the titles of the patterns that some of them watch."""

from .preset import Preset
from .rollout_rules import HACKING, ROLLOUTS
from .run_rules import LEARNING, OF_RUN

__all__ = ["PATTERNS", "PRESETS", "Preset"]

PRESETS = {one.key: one for one in (*OF_RUN, *LEARNING, *ROLLOUTS, *HACKING)}
PATTERNS = {one.metric.removeprefix("patterns."): one.title for one in HACKING}
