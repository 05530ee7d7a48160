"""Rules that watch a run: what is judged of its curves, what its rollouts show, and what to do when one fires."""
