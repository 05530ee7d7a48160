"""The operations of the API, a file for each room of the site."""
