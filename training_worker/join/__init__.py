"""A machine that joins a site as a worker: it needs the site's address and a token, and nothing else of the site."""
