"""Runs side by side: curves, results, components, tools and configurations, and what they do differently."""
