"""Two runs held against each other: where they part, aligned by keys that both share."""
