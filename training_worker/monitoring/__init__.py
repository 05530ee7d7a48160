"""Monitoring of runs: metrics, alert rules and the validation of event data."""
