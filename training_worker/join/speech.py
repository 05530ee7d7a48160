"""What an enrolled machine and the site agree on before they work together: versions of what training depends on."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ..prove.synthesis.shards import own_code

PINS = ("torch", "transformers", "trl", "peft", "accelerate", "pyarrow")
DIFFERS = "This machine has other versions than the site: {}. Bring both to the same version and join again."


def versions() -> dict[str, str]:
    """The digest of the code, and of each package the version that is installed; "" for none."""
    return {"code": own_code(), **{name: installed(name) for name in PINS}}


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def differences(theirs: Mapping[str, Any], ours: Mapping[str, str]) -> list[str]:
    """What is of another version there; a package that is not here does not matter, nor its build."""
    known = {name: one for name, one in ours.items() if one}
    there = {name: str(theirs.get(name) or "") for name in known}
    return [
        f"{name} {there[name][:20] or 'none'}, here {one[:20]}"
        for name, one in known.items()
        if there[name].partition("+")[0] != one.partition("+")[0]
    ]
