"""How fast the parts are, each beside a baseline or a peer measured in the same run: `make bench`."""
