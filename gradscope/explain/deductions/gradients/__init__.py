"""Where gradients end, and what of a loss, a sample or a derivative they leave out."""
