"""Runs in the files of other trackers, read and written by their own libraries, loaded only when asked for."""
