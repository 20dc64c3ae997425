"""What custom autograd Functions and torch.func transforms do while they run."""
