"""A data set as others use it: Parquet beside its lines, and a card with plots."""
