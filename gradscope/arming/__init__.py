"""Recordings that are switched on in the middle of a run: until somebody asks, none of the probes stands."""
