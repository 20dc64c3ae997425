"""Custom Functions, met at run time."""
