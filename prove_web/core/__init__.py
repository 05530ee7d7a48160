"""What every app of the site may use: request context, logs, counters, body limits, streaming and JSON fields."""
