"""Modes, frozen parts, running averages, and states that are saved and loaded."""
