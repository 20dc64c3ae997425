"""Gradients that do not arrive: of a parameter, of an input, of a term of the loss."""
