"""The number of open alerts in the navigation of accounts."""

from prove_web.accounts.hooks import section_counts

from .querysets import open_alerts

section_counts["alerts"] = open_alerts
