"""The engine as a model: which nodes a backward call runs, in which order, and why. Pure: no torch, no files."""
