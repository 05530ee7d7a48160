"""`python -m training_worker`: the pipeline, which answers Ctrl-C in one line also while it loads."""

import sys

if __name__ == "__main__":
    try:
        from .pipeline import main

        code = main()
    except KeyboardInterrupt:
        print("Stopped before anything began.")
        code = 130
    sys.exit(code)
