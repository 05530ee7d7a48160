"""Readers and writers of runs in other trackers' files, with those trackers' libraries, loaded only when needed."""
