"""Dataset export: Parquet files in addition to JSON Lines, and a data card with plots."""
