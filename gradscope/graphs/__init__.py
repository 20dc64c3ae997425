"""Pure functions over a Graph: grouping, folding, walking. Everything iterates, because graphs are deep."""
