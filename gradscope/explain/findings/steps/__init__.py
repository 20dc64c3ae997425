"""What optimizers, schedules, scalers and clipping do between two backward calls, and leave undone."""
