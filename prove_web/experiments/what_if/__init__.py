"""Reward replay: the rollouts of a run or dataset rescored with another reward, fast enough for sliders."""
