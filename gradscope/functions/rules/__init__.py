"""Why a trial failed and what to change: one function per rule, whose docstring is the rule's page."""
