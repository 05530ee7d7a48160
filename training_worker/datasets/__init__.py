"""Datasets: folder, manifest, replay, edits, mixing and splitting, import and export."""
