"""Web site of PROVE Studio: the only package that depends on Django."""
