"""How to write it: one format per file."""
