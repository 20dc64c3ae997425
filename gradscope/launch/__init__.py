"""Runs the program that is recorded, and says how and where it runs."""
