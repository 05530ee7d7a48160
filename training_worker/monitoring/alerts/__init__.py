"""Alert rules for runs: conditions on metrics, patterns in rollouts, and advice for when a rule fires."""
