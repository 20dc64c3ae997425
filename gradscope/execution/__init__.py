"""Runs a recorded backward again: the stored operator calls, on the stored bytes."""
