"""Chat templates that come with TRL, read from its files.

Importing TRL's template module takes seconds because it also imports models and datasets, which a tokenizer does not
need.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def trl_template(name: str) -> str:
    """Return the template in TRL's chat_templates/NAME.jinja."""
    spec = find_spec("trl")
    assert spec and spec.origin
    return (Path(spec.origin).parent / "chat_templates" / f"{name}.jinja").read_text("utf-8")


QWEN3_INSTRUCT = trl_template("qwen3_instruct_2507")
QWEN3_TRAINING = trl_template("qwen3_training")
