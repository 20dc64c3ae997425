"""What optimizers hold, which gradients their steps use, and what a step leaves undone."""
