"""Answers to what a user asks of one tensor or parameter."""
