"""Bring to the storage what runs could not: `python -m training_worker.prove.store`, on the machine of the worker.

The data folder is PROVE_DATA, the storage PROVE_STORAGE. Runs may be at work meanwhile.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .storage import VARIABLE, StorageFailed, configured
from .uploader import bring, pending


def main() -> int:
    """0 when nothing is left, 1 with a line that says why."""
    data = Path(os.environ.get("PROVE_DATA") or "data")
    try:
        storage = configured()
        if storage is None:
            raise StorageFailed(f"{VARIABLE} names no storage: rollouts stay in the folders of their runs.")
        for folder in sorted(data.glob("jobs/*/out/rollouts")):
            if waiting := len(pending(folder)):
                bring(folder, storage / folder.parent.parent.name / "rollouts")
                print(f"{folder}: {waiting} file{'s' * (waiting > 1)} brought")
    except StorageFailed as error:
        print(error, file=sys.stderr)
        return 1
    print(f"The storage {storage.named} has all rollouts of {data}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
