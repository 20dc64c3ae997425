"""How to write a picture: one format per file, listed in `formats`."""
