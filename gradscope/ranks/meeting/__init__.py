"""Ranks that do not meet: one goes another way, stops, or enters another collective."""
