"""Tensors that are written in place, that share their memory, or that were meant to be written and are not."""
