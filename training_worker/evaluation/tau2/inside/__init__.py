"""Code that runs in tau2's own environment, which has none of the packages used elsewhere."""
