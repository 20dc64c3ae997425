"""Several recordings at once: two runs held against each other, and the ranks of one."""
