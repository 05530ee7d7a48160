"""What keeps the site's processes running on one machine. Plain Python: it knows programs, not the site."""
