"""Data sets made of data sets: which conversations go where, and the files that they are kept in."""
