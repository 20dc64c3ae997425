"""The built-in layout: own code, no program needed, linear in practice."""
