"""What runs in BFCL's own environment, which has no package that we use elsewhere."""
