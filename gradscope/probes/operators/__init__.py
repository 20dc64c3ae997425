"""Operators below autograd, and what is derived from them."""
