"""Hands recordings over to other tools, in their formats."""
