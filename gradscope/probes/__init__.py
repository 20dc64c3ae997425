"""The instruments: a room for each kind of thing that is recorded, one instrument per file.

Each is a context manager that leaves no hook, mode or patch behind, or acts around backward calls, or both. They run
inside the user's program, so they share three rules: nothing of theirs raises into it (core/faults.py), nothing of
theirs keeps a tensor or a node alive, and no container is made per event that outlives its callback.
"""
