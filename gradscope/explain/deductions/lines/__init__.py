"""The line to edit, read in the source: where a value, a setting, a module or a decision comes from."""
