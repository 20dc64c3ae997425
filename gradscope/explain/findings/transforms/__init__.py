"""What torch.func's transforms and activation checkpoints refuse, or compute otherwise."""
