"""What the source says of what ranks do: by whom, by which condition, from which value."""
