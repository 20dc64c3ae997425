"""What a backward costs and carries: time, gradients, memory, hooks, as tables. Pure: from the recording alone."""
