"""Hooks that edit what they should not, stand in the wrong place, or pile up."""
