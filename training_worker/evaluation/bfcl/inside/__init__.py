"""Code that runs in BFCL's own environment, which has none of the packages used elsewhere."""
