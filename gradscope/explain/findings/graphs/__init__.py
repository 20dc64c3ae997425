"""Graphs that are run again, kept, copied, or differentiated twice."""
