"""Gradients and values that are not finite, too large, too small, or zero."""
