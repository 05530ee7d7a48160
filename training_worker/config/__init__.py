"""Settings of training runs: defaults, presets and memory estimates, for the site, the command line and the trainer."""
