"""What values, losses and weights do from step to step, and where one that is not finite was born."""
