"""Losses that are not what they seem: what they compare, average, weigh and mask."""
