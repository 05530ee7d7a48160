"""tau2-bench from its own package: environments, simulated users and evaluator run in a child process."""
