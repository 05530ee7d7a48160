"""Dataset curation: mixing, splitting and filtering datasets, and writing the resulting files."""
