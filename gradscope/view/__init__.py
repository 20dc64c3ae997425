"""What to show of a graph, by roles: no colours, no formats."""
