"""What runs in tau2's own environment, which has no package that we use elsewhere."""
