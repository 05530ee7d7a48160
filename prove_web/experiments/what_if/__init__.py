"""What-if rewards: a run's or a data set's rollouts under another reward, in the time that a slider is moved."""
