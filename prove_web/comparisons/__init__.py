"""Run comparison: curves, results, reward components, tools, configurations and behaviour."""
