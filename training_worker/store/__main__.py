"""The command `python -m training_worker.store`, which uploads pending rollout files from the worker's machine.

The data folder is PROVE_DATA, the storage PROVE_STORAGE. Runs may be active meanwhile.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .storage import VARIABLE, StorageFailed, get_storage
from .uploader import bring, list_pending_files


def main() -> int:
    """Upload all pending files; return 0, or 1 after printing the error."""
    data = Path(os.environ.get("PROVE_DATA") or "data")
    try:
        storage = get_storage()
        if storage is None:
            raise StorageFailed(f"{VARIABLE} is not set: rollouts stay in the folders of their runs.")
        for folder in sorted(data.glob("jobs/*/out/rollouts")):
            if waiting := len(list_pending_files(folder)):
                bring(folder, storage / folder.parent.parent.name / "rollouts")
                print(f"{folder}: {waiting} file{'s' * (waiting > 1)} uploaded")
    except StorageFailed as error:
        print(error, file=sys.stderr)
        return 1
    print(f"All rollouts of {data} are in the storage {storage.named}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
