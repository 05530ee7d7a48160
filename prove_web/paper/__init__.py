"""The paper's tables and figures next to the team's own results."""
