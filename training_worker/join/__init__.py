"""Enrolled worker: a machine that joins a site with only the site's URL and a token."""
