"""The audit command `python -m training_worker.audit FOLDER`: its exit code is 1 when a check fails."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from transformers.utils import logging

from ..core.trajectory import UnreadableData
from .checks import Check, Verdict
from .folder import audit_folder


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="audit_template", description="Check a model's chat template for training.")
    parser.add_argument("folder", type=Path, help="the model's folder: tokenizer, configuration, safetensors")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    parser.add_argument("--no-weights", action="store_true", help="skip the check that needs the model's weights")
    args = parser.parse_args(arguments)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        verdict = audit_folder(args.folder, weights=not args.no_weights)
    except UnreadableData as reason:
        verdict = Verdict("", checks=(Check("model", False, str(reason)),))
    print(json.dumps(verdict.as_json(), ensure_ascii=False, indent=1) if args.json else format_verdict(verdict))
    return 0 if verdict.ok else 1


def format_verdict(verdict: Verdict) -> str:
    """Return the verdict in lines: the family, then each check with what it means or what is wrong."""
    lines = [f"family: {verdict.family}; chat template: {verdict.template}"] if verdict.family else []
    lines += [f"{'ok  ' if check.ok else 'FAIL'} {check.name}: {check.detail}" for check in verdict.checks]
    return "\n".join([*lines, "fit for training" if verdict.ok else "not fit for training"])


if __name__ == "__main__":
    sys.exit(main())
