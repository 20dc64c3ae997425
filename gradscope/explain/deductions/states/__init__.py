"""What is frozen, thawed, evaluated and put back into training."""
