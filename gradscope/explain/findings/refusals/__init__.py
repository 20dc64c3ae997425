"""What torch or Python refuses, told by the line to edit."""
