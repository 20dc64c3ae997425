"""What a model computes and was not meant to: mixed dimensions, turned masks, weights that are not shared."""
