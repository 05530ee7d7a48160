"""Process supervision for one machine. Plain Python that knows programs, not the site."""
