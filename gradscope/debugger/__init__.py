"""Stops a running program inside a backward, before chosen nodes, and answers questions there."""
