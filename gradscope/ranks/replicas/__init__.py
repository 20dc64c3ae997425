"""Copies of one model: what starts apart, drifts apart, or is left out by what keeps them equal."""
