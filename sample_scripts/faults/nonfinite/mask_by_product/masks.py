"""Masks for the scores."""


def additive_mask(keep):
    """0 where a position is kept, -inf elsewhere."""
    return (1 - keep) * float("-inf")  # expect: GS730
