"""Module calls, and where modules were built."""
