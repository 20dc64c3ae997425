"""The instruments, one per file. Each is a context manager that leaves no hook, mode or patch behind.

They run inside the user's program, so they share three rules: nothing of theirs raises into it (faults.py), nothing
of theirs keeps a tensor or a node alive, and no container is made per event that outlives its callback.
"""
