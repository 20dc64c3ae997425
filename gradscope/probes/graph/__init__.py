"""The autograd graph: how nodes are made, what a backward call walks, and what is left of it."""
