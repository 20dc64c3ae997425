"""Hooks of the program: registered, placed, fired."""
