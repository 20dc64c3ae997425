"""check-function: read a custom autograd.Function, run it every way torch can, and say what is wrong and why."""
