"""Torch's own samples and tests, run plainly and traced: `make test-peers`."""
