"""The command `python -m training_worker`: the pipeline, with a one-line reply to Ctrl-C even while it loads."""

import sys

if __name__ == "__main__":
    try:
        from .experiments.pipeline import main

        code = main()
    except KeyboardInterrupt:
        print("Stopped before anything started.")
        code = 130
    sys.exit(code)
