"""What each rank is given: the same samples, more than the others, or an order that never changes."""
