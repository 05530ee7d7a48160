"""The web side of PROVE Studio: the only room that knows Django."""
