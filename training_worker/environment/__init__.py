"""Episodes: a policy acts in live worlds, and what follows from the record of an episode."""
