"""The paper's tables and figures with the team's own results beside its figures."""
